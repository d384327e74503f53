import CommandLineTool
import MMLogSystem

// A frame's records take a MiB, one frame after the other.
Heap.keepFreedMemory()
Program.run(.decode)
