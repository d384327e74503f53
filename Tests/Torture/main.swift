Torture.run([
  Power.kind,
  Crash.kind,
])
