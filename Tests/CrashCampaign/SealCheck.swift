import CrashRecords
import MMLogAnalysis
import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem
import TestSupport

/// Inspects whether encrypted archives have anything in clear, and whether what was known of
/// chained ones still holds.
struct SealCheck {
  private(set) var problems: [String] = []
  /// The heads of chained archives that are known now, and those that were known before.
  private(set) var heads: [ArchiveHead]

  /// - Parameters:
  ///   - files: The files in the store.
  ///   - deleted: The files that limits have deleted: recovery has not seen them.
  ///   - path: The folder with everything that a round leaves on a disk.
  ///   - heads: The heads that were known before.
  init(
    of files: LogFiles, deleted: LogFiles, _ settings: Settings, in path: String,
    _ heads: [ArchiveHead], isRecovered: Bool
  ) {
    self.heads = heads
    if settings.isEncrypted {
      checkFrames(files)
      checkFrames(deleted)
      for name in ["store", "rings", "ledger"] {
        search("\(path)/\(name)", for: Self.texts(of: settings))
      }
    }
    if settings.isChained {
      checkChains(files, isRecovered: isRecovered, areDeleted: settings.keep != nil)
    }
  }

  private mutating func checkFrames(_ files: LogFiles) {
    for archive in files.sessions.flatMap(\.archives) {
      for frame in archive.frames where frame.header.type.isSecret && !frame.header.isEncrypted {
        problems.append("a frame of \(archive.path) at \(frame.offset) is not encrypted")
      }
    }
  }

  /// Texts that are in each log, or the beginnings of them.
  private static func texts(of settings: Settings) -> [[UInt8]] {
    (1...20).map { Array(settings.lane(0).text(of: $0).prefix(24)) }.filter { $0.count == 24 }
  }

  /// Searches files for texts that are in each log.
  private mutating func search(_ path: String, for texts: [[UInt8]]) {
    if let names = try? Directory.open(path).names() {
      for name in names { search("\(path)/\(name)", for: texts) }
    } else if let bytes = try? Folder.read(path) {
      // A ring has labels and places of statements in clear.
      let isRing = path.contains(FileNames.ringSuffix)
      let names = isRing ? [] : ["CrashRecords/", "a label with the number"]
      for word in texts + names.map({ Array($0.utf8) }) where Self.has(bytes, word) {
        problems.append("\(path) has in clear: \(String(decoding: word, as: UTF8.self))")
      }
    }
  }

  private static func has(_ bytes: [UInt8], _ word: [UInt8]) -> Bool {
    bytes.withUnsafeBytes { bytes in
      word.withUnsafeBytes { word in
        var rest = bytes[...]
        while let place = rest.firstIndex(of: word[0]) {
          if bytes[place...].starts(with: word) { return true }
          rest = rest[(place + 1)...]
        }
        return false
      }
    }
  }

  /// - Parameter areDeleted: Whether archives may be gone, since limits or others have deleted
  ///   them.
  private mutating func checkChains(_ files: LogFiles, isRecovered: Bool, areDeleted: Bool) {
    do throws(LogError) {
      // An archive that goes on has several known heads, of different times.
      heads += try files.heads().filter { !heads.contains($0) }
    } catch {
      problems.append("heads: \(error)")
    }
    guard isRecovered else { return }
    for report in files.verify() where !report.isRing {
      if let problem = report.unchecked { problems.append(problem) }
      if !report.state.hasSuffix("chained") { problems.append("\(report.path) is not chained") }
      problems += report.corruption.map { "\($0.path): \($0.summary)" }
    }
    for report in files.check(heads) where report.verdict != .intact {
      let isThere = files.sessions.contains { session in
        session.identity.session == report.head.session
          && session.archives.contains { $0.fileHeader.number == report.head.archive }
      }
      if isThere || !areDeleted { problems.append("\(report.head): \(report.verdict)") }
    }
  }
}
