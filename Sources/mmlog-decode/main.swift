import CommandLineTool

Program.run(.decode) { arguments, output in
  try Decoder(DecodeSettings(arguments, output)).run()
}
