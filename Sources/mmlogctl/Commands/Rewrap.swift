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
      Gives the keys of encrypted archives and rings to other recipients: for a new reader, or if \
      an old key must no longer open them. The records stay encrypted as they are.
      """,
      """
      Name all recipients: no other key opens the files from then on. The old keys still open an \
      older copy of a file, and the copy of a receiver that got an archive before. A ring may be \
      in use: what its process archives later is for the recipients that the process's \
      configuration names.
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
        "rewrap takes 1 to \(KeySlot.mostRecipients) recipients; name each with --recipient")
    }
    let identities = try arguments.identities()
    return try arguments.forEachArchive(output, "rewrapped", takesRings: true) { catalog, name in
      if try catalog.rewrap(name, with: identities, for: recipients) {
        Command.complain(
          "\(name) was uploaded before: the receiver's copy is for the old recipients, until it is "
            + "rewrapped there, too")
      }
    }
  }
}

extension Option {
  fileprivate static let recipient = Option(
    "recipient", short: "r", value: "AGE1...", repeatable: true,
    "A recipient of the archives from now on: a public key of age.")
}
