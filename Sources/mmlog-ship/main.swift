import CommandLineTool
import MMLogSystem

// The bodies of a batch are some megabytes, and are freed when it is acknowledged.
Heap.returnFreedMemory()
Program.run(.ship)
