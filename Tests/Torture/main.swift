Torture.run([
  Power.kind,
  Crash.kind,
  Faults.kind,
  Flips.kind,
  Mutations.kind,
  Soak.kind,
])
