Torture.run([
  Power.kind,
  Crash.kind,
  Faults.kind,
  Flips.kind,
  Soak.kind,
])
