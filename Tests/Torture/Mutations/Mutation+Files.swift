import MMLogFormat
import TestSupport

extension Mutation {
  /// Cuts, removes or renames files.
  func applyToWholeFiles(
    of files: inout MutatedFiles, _ random: inout SeededGenerator
  ) -> String? {
    guard let target = target(in: files, &random) else { return nil }
    let name = files.files[target].name
    switch self {
    case .cutAnywhere, .cutAtFrame:
      guard let end = end(in: files, target, &random), end < files.files[target].bytes.count
      else { return nil }
      files.files[target].bytes.removeSubrange(end...)
      return "\(self): \(name) at \(end)"
    case .renamed:
      guard let new = newName(for: name, &random),
        !files.files.contains(where: { $0.name == new })
      else { return nil }
      files.files[target].name = new
      return "\(self): \(name) to \(new)"
    case .swapped:
      let isOther = { (index: Int) in
        index != target && files.isRing(index) == files.isRing(target)
      }
      guard let other = files.pick(&random, isOther) else { return nil }
      files.files[target].name = files.files[other].name
      files.files[other].name = name
      return "\(self): \(name) and \(files.files[target].name)"
    default:
      files.files.remove(at: target)
      return "\(self): \(name)"
    }
  }

  private func target(in files: MutatedFiles, _ random: inout SeededGenerator) -> Int? {
    switch self {
    case .cutAtFrame: files.pick(&random) { !files.isRing($0) }
    case .ringRemoved: files.pick(&random) { files.isRing($0) }
    case .oldestArchiveRemoved: files.pick(&random) { rank($0, in: files)?.isOldest == true }
    case .newestArchiveRemoved: files.pick(&random) { rank($0, in: files)?.isNewest == true }
    case .middleArchiveRemoved:
      files.pick(&random) { rank($0, in: files).map { !$0.isOldest && !$0.isNewest } == true }
    default: files.pick(&random) { _ in true }
    }
  }

  /// Where an archive stands among those of its last session; nil for a ring.
  private func rank(_ index: Int, in files: MutatedFiles) -> (isOldest: Bool, isNewest: Bool)? {
    guard let mine = files.original(index).sections.last, mine.number > 0 else { return nil }
    let numbers = files.files.indices.flatMap { files.original($0).sections }
      .filter { $0.session == mine.session && $0.number > 0 }.map(\.number)
    return (mine.number == numbers.min(), mine.number == numbers.max())
  }

  private func end(
    in files: MutatedFiles, _ target: Int, _ random: inout SeededGenerator
  ) -> Int? {
    if self == .cutAtFrame {
      return files.parts(target).randomElement(using: &random)?.range.lowerBound
    }
    let part = files.parts(target).randomElement(using: &random)?.range
    return part?.randomElement(using: &random)
  }

  /// Another name that a log's file of the same kind may have.
  private func newName(for name: String, _ random: inout SeededGenerator) -> String? {
    let suffix = name.hasSuffix(".ring") ? ".ring" : ".mmlog"
    let stem = name.dropLast(suffix.utf8.count)
    let session = SessionID(random: (random.next(), random.next()))
    return random.pick("\(stem)9\(suffix)", "other-\(session)\(suffix)", "aaa\(suffix)")
  }
}
