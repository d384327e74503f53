package import MMLogFormat
package import MMLogSystem

/// What the consumers of a directory have not acknowledged yet, as their states say.
package struct UnsentArchives: Sendable {
  /// For each consumer: the first archive of each session that it has not acknowledged as a whole.
  private var firsts: [String: [SessionID: UInt32]] = [:]

  /// The line of a state whose consumer was asked for some records once: no archive waits for it.
  package static let selection = "selection 1"

  /// Reads the states of all consumers. A consumer whose state cannot be read counts as one that
  /// has acknowledged nothing: what it may lack must not be deleted.
  package init(in directory: borrowing Directory) throws(SystemError) {
    for consumer in try ConsumerFile.consumers(in: directory) {
      do throws(LogError) {
        guard let state = try ConsumerFile.notedState(of: consumer, in: directory),
          !state.split(separator: "\n").contains(where: { $0 == Self.selection })
        else { continue }
        firsts[consumer] = Self.firsts(state)
      } catch  where error.code == .foreignOwner || error.code == .foreignFile {
        // No consumer opens such a file, either.
        continue
      } catch {
        firsts[consumer] = [:]
      }
    }
  }

  /// Whether there is no consumer.
  package var isEmpty: Bool { firsts.isEmpty }

  /// Whether a consumer has not acknowledged all of an archive.
  package func contains(_ archive: ArchiveID) -> Bool {
    firsts.values.contains { archive.number >= $0[archive.session] ?? 0 }
  }

  /// The consumers that have not acknowledged all of an archive.
  func consumers(lacking archive: ArchiveID) -> [String] {
    firsts.filter { archive.number >= $0.value[archive.session] ?? 0 }.keys.inOrder()
  }

  /// Reads the line `cursor mmlog1:SESSION.ARCHIVE.FRAME…[/ARCHIVE…][!],…`; see `LogReader.Cursor`.
  private static func firsts(_ state: String) -> [SessionID: UInt32] {
    var firsts: [SessionID: UInt32] = [:]
    for line in state.split(separator: "\n") where line.hasPrefix("cursor mmlog1:") {
      for part in line.dropFirst("cursor mmlog1:".count).split(separator: ",") {
        let fields = part.split(separator: ".", maxSplits: 2)
        guard fields.count == 3, let session = SessionID(fields[0]), let number = UInt32(fields[1])
        else { continue }
        // Where a fragmented record begins that is not whole at the cursor.
        let begins = part.split(separator: "/").dropFirst().first?.split(separator: ".").first
        let first = begins.flatMap { UInt32($0) } ?? number
        firsts[session] = part.hasSuffix("!") ? .max : min(number, first)
      }
    }
    return firsts
  }
}
