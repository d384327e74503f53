import CommandLineTool

Program.run(.control)
