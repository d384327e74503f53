Torture.run([Power.kind])
