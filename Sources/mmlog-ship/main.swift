import CommandLineTool

Program.run(.ship)
