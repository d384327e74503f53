Torture.run(
  [
    Power.kind,
    Crash.kind,
    Faults.kind,
    Flips.kind,
    Soak.kind,
  ],
  // Finds what is known and not fixed yet.
  alone: [Mutations.kind])
