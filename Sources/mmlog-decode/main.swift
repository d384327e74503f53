import CommandLineTool

Program.run(.decode) { arguments, output in
  if try arguments.areToPrune() { return try Prune(arguments, output).run() }
  if let control = try Control(arguments, output) { return try control.run() }
  let settings = try DecodeSettings(arguments, output)
  if let job = settings.job { return try job.run(settings, output) }
  return try Decoder(settings).run()
}
