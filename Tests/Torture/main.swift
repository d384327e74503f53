Torture.run([
  Power.kind,
  Crash.kind,
  Faults.kind,
])
