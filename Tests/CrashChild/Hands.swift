import CrashRecords
import Glibc
import MMLog
import MMLogSystem
import TestSupport

/// Does with archives what uploaders and operators do, in any order: closes, leases, marks, pins
/// and removes them.
///
/// Other processes do so at the same time, and delete archives that exceed the limits: an archive
/// that is gone is no finding.
struct Hands {
  private let store: LogStore
  private let ledger: ArchiveLedger
  private let owner = "process \(CurrentProcess.id)"
  private var random: SeededGenerator
  private var pinned: ArchiveInfo?

  init(_ store: LogStore, _ ledger: ArchiveLedger, seed: UInt64) {
    (self.store, self.ledger) = (store, ledger)
    random = SeededGenerator(seed: seed)
  }

  /// Does one thing, and returns what is wrong.
  mutating func move() -> String? {
    do {
      switch random.scaled(1...6) {
      case 1, 2: _ = try store.rotate(within: .seconds(100))
      case 3, 4: return try upload()
      case 5: try pin()
      default:
        if random.oneIn(2) { try store.applyRetention(within: .seconds(100)) }
        _ = try store.removeUploaded(store.uploaded())
      }
      return nil
    } catch let error as LogError where [.missingArchive, .changedArchive].contains(error.code) {
      return nil
    } catch {
      return "handing on: \(error)"
    }
  }

  /// Leases an archive, if nobody else does, and then releases it or marks it as uploaded.
  private mutating func upload() throws -> String? {
    guard let archive = try store.needingUpload().randomElement(using: &random),
      let lease = try store.acquireLease(on: archive, by: owner, for: .milliseconds(50))
    else { return nil }
    let name = archive.fileName
    let other = ledger.text(.leased, name)
    let isMine = Clock.realtime() < lease.expiry.nanosecondsSince1970
    let mark = ProcessMark.current.map(\.description) ?? "-"
    ledger.note(.leased, name, "\(lease.expiry.nanosecondsSince1970) \(owner) \(mark)")
    // A lease of a killed process is not in force.
    let process = other?.split(separator: " ").last.flatMap { ProcessMark(String($0)) }
    if isMine, let other, process?.isGone != true, let expiry = Int64(other.prefix { $0 != " " }),
      expiry >= lease.expiry.nanosecondsSince1970 - 50_000_000
    {
      return "\(name) is leased by \(owner) and, until \(expiry), by \(other)"
    }
    usleep(UInt32(random.scaled(1...2000)))
    ledger.forget(.leased, name)
    if random.oneIn(3) {
      try store.release(lease, on: archive)
    } else {
      try store.markUploaded(archive)
      ledger.note(.uploaded, name)
    }
    return nil
  }

  /// Pins an archive until the next call.
  private mutating func pin() throws {
    if let pinned {
      ledger.forget(.pinned, pinned.fileName)
      self.pinned = nil
      return try store.unpin(pinned)
    }
    guard let archive = try store.archives().randomElement(using: &random),
      // Without this note, two might pin the archive, and the first to unpin it would end the
      // other's pin.
      ledger.note(.pinned, archive.fileName, isFirst: true)
    else { return }
    do throws(LogError) {
      try store.pin(archive, because: owner)
      ledger.note(.pinned, archive.fileName, "yes")
      pinned = archive
    } catch {
      ledger.forget(.pinned, archive.fileName)
      throw error
    }
  }
}
