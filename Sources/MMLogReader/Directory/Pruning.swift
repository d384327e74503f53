package import MMLogStorage
import MMLogSystem

/// Applies limits to a directory of archives once, while any processes may use it.
package struct Pruning {
  /// An archive, and what the limits say of it.
  package struct Verdict {
    package let archive: ArchiveInfo
    /// The rule that deletes the archive; nil if none does.
    package let rule: Retention.Rule?
    /// Why no rule may delete the archive; nil if one may.
    package let obstacle: Retention.Obstacle?
  }

  /// What the limits say of all archives.
  package struct Judgment {
    /// The stores that have archives there.
    package fileprivate(set) var stores: Set<String> = []
    /// Store by store, the oldest first.
    package fileprivate(set) var verdicts: [Verdict] = []
    /// The limits that would be exceeded even if everything were deleted that may be, by store.
    package fileprivate(set) var unmet: [(store: String, rule: Retention.Rule)] = []
  }

  private let rings: String
  private let catalog: Catalog

  /// - Parameters:
  ///   - directory: Where the archives are.
  ///   - rings: The directory of the rings of processes that died; nil: the same directory.
  package init(of directory: String, rings: String? = nil) {
    self.rings = rings ?? directory
    catalog = Catalog(of: directory, store: nil)
  }

  /// Judges each archive.
  ///
  /// - Parameters:
  ///   - retention: The limits for each store's archives; free space counts for all together. Nil:
  ///     the limits that each store has noted; there are no others.
  ///   - store: The store whose archives are judged; nil for all.
  ///   - problem: Receives a text for each thing that cannot be read.
  package func judge(
    _ retention: Retention?, store: String?, problem: (String) -> Void
  ) throws(LogError) -> Judgment {
    let all = try catalog.scan { problem("\($0)") }
    var space: (free: Int, total: Int)?
    do throws(SystemError) {
      space = try catalog.space()
    } catch {
      problem("\(error)")
    }
    var judgment = Judgment()
    judgment.stores = Set(all.map(\.storeName))
    for name in judgment.stores.inOrder() where store == nil || name == store {
      let archives = all.filter { $0.storeName == name }
      var limits = retention
      if limits == nil { limits = try catalog.settings(of: name)?.retention }
      guard let limits else {
        let file = "\(catalog.path)/\(FileNames.settings(of: name))"
        problem(
          catalog.hasSettings(of: name)
            ? "\(file) is broken, so no limits of the store \(name) are known: give some, or "
              + "restart its service, which notes them again"
            : "no limits are noted for the store \(name): give some")
        continue
      }
      let plan = try RetentionPlan(
        limits, archives, ringDirectories: [rings], space: space, strange: { problem("\($0)") })
      let rules = Dictionary(uniqueKeysWithValues: plan.deletions.map { ($0.index, $0.rule) })
      for (index, archive) in archives.enumerated() {
        judgment.verdicts.append(
          Verdict(archive: archive, rule: rules[index], obstacle: plan.kept[index]))
        if rules[index] != nil { space?.free += archive.allocatedSize }
      }
      judgment.unmet += plan.unmet.map { (name, $0) }
    }
    return judgment
  }

  /// Deletes the archives for which a verdict has a rule.
  ///
  /// - Parameters:
  ///   - deleted: Receives the verdict of each archive that was deleted. An archive is spared if it
  ///     is pinned or being written, or was changed since it was judged.
  ///   - failed: Receives the error for each archive that could not be deleted.
  package func delete(
    _ verdicts: [Verdict], deleted: (Verdict) -> Void, failed: (LogError) -> Void
  ) throws(LogError) {
    for verdict in verdicts where verdict.rule != nil {
      let judged = verdict.archive
      let mayGo = { (archive: ArchiveInfo) in
        !archive.state.isPinned && archive.isUnchanged(since: judged)
      }
      try catalog.delete([judged.fileName], if: mayGo) { _, outcome in
        switch outcome {
        case .deleted: deleted(verdict)
        case .failed(let error): failed(error)
        case .spared: break
        }
      }
    }
    try catalog.emptyTrash()
    try catalog.removeStraySidecars()
  }
}
