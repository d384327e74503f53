import CommandLineTool
import MMLogSystem

// A batch's bodies are some megabytes, and gone when it is acknowledged.
Heap.returnFreedMemory()
Program.run(.ship)
