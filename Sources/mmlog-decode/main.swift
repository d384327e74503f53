import CommandLineTool

Program.run(.decode)
