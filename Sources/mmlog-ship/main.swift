import CommandLineTool
import Glibc
import MMLogSystem

// Whoever ignores it leaves that to the programs that it starts, and then no command has a status.
signal(SIGCHLD, SIG_DFL)
// A batch's bodies are some megabytes, and gone when it is acknowledged.
Heap.returnFreedMemory()
Program.run(.ship)
