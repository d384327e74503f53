import CommandLineTool
import LogCommands
import MMLogCrypto
import MMLogReader
import MMLogStorage

extension Command {
  static let rewrap = Command(
    "rewrap",
    description: [
      """
      Gives the keys of encrypted archives and rings to other recipients: for a new reader, or \
      when an old key is to open them no more. The records stay encrypted as they are.
      """,
      """
      Name everybody who is to read them, as nobody else will. Whoever had a copy and its key \
      still reads that copy. A ring may be in use: what its process archives from then on is for \
      those that its configuration names.
      """,
    ],
    options: [.identity, .recipient, .silent],
    operands: Operands("FILE", count: 1...Int.max, "Archives and rings: *.mmlog, *.ring."),
    examples: [
      Example(
        "Let a colleague read what there is",
        "mmlogctl rewrap --identity my.key --recipient age1... --recipient age1... "
          + "/var/log/orders/*.mmlog")
    ]
  ) { arguments, output in
    let recipients = try arguments.recipients(of: .recipient)
    guard (1...KeySlot.mostRecipients).contains(recipients.count) else {
      throw UsageError(
        "--recipient says who is to read the archives; give 1 to \(KeySlot.mostRecipients)")
    }
    let identities = try arguments.identities()
    return try arguments.forEachArchive(output, "rewrapped", takesRings: true) { catalog, name in
      try catalog.rewrap(name, with: identities, for: recipients)
    }
  }
}

extension Option {
  fileprivate static let recipient = Option(
    "recipient", short: "r", value: "AGE1...", repeatable: true,
    "Who is to read the archives from now on: a public key of age.")
}
