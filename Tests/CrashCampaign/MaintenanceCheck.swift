import TestSupport
import CrashRecords
import MMLogFormat
import MMLogStorage

/// Checks that a directory holds those archives that limits and `Hands` have left, and nothing else
/// that was there.
struct MaintenanceCheck {
  private let path: String
  private let ledger: ArchiveLedger
  private let deleted: [ArchiveLedger.Link]
  private let keep: Int
  private let settings: Settings

  init(
    of path: String, _ ledger: ArchiveLedger, _ deleted: [ArchiveLedger.Link], keep: Int,
    _ settings: Settings
  ) {
    (self.path, self.ledger, self.deleted, self.keep) = (path, ledger, deleted, keep)
    self.settings = settings
  }

  /// - Parameter isRecovered: Whether a process has opened and closed the store after all others
  ///   had died.
  func problems(isRecovered: Bool) -> [String] {
    // A process may have died before it made the directory.
    guard (try? Folder.names(path)) != nil else { return [] }
    do {
      let archives = try Catalog(of: path, store: nil).scan()
      var problems = problemsOfNotes(archives) + problemsOfNames(archives)
      if settings.changesLimits { problems += problemsOfLimits(archives) }
      if isRecovered {
        problems += problemsOfCount(archives)
        problems += try leftOver(archives).map { "\($0) is left" }
      }
      return problems
    } catch {
      return ["\(error)"]
    }
  }

  /// Checks that what was noted before a process died is still noted.
  private func problemsOfNotes(_ archives: [ArchiveInfo]) -> [String] {
    var problems: [String] = []
    let there = Dictionary(uniqueKeysWithValues: archives.map { ($0.fileName, $0.state) })
    for name in ledger.all(.uploaded) where there[name]?.isUploaded == false {
      problems.append("\(name) is not uploaded any more")
    }
    for name in ledger.all(.pinned) where ledger.text(.pinned, name) == "yes" {
      if there[name]?.isPinned != true { problems.append("\(name) is not pinned any more") }
    }
    return problems
  }

  /// Checks that no two archives had the same name: who hands an archive on by its name must not
  /// find another by it.
  private func problemsOfNames(_ archives: [ArchiveInfo]) -> [String] {
    let names = archives.map(\.fileName) + deleted.map(\.fileName)
    return Dictionary(grouping: names) { $0 }.filter { $0.value.count > 1 }.keys.sorted().map {
      "there were two archives with the name \($0)"
    }
  }

  /// Checks that limits that were set count, also in a child by fork, and not those that the store
  /// was opened with.
  private func problemsOfLimits(_ archives: [ArchiveInfo]) -> [String] {
    // An archive may have a frame and an index more.
    let maximum = (settings.archive << 10) + RowBuilder.targetSize
    return deleted.map { "\($0.fileName) was deleted, and no limit that is set asks for it" }
      + archives.filter { $0.size > maximum }.map {
        "\($0.fileName) has \($0.size) bytes, and \(settings.archive) KiB were set"
      }
  }

  private func problemsOfCount(_ archives: [ArchiveInfo]) -> [String] {
    // Archives around a crash are spared.
    let spared = 2 + archives.count { $0.state.isPinned }
    let count = archives.count { $0.contents?.count != 0 }
    return count > keep + spared
      ? ["\(count) archives are there, and \(keep) are to be kept; \(spared) may be spared"] : []
  }

  /// The files that nobody needs any more.
  private func leftOver(_ archives: [ArchiveInfo]) throws -> [String] {
    let names = Set(archives.map(\.fileName))
    let trash = "\(path)/.mmlog-trash"
    let deleted = (try? Folder.names(trash)) ?? []
    let sidecars = try Folder.names(path).filter { name in
      // Finished or unfinished sidecars.
      let stem = name.hasSuffix(".new") ? name.dropLast(4) : name[...]
      return stem.hasSuffix(".state") && !names.contains(String(stem.dropLast(6)))
    }
    return sidecars + deleted.map { "\($0) in the trash" }
  }
}
