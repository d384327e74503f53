import TestSupport

extension Mutation {
  /// Replaces blocks of a disk by others, aligned as they are.
  func applyToBlocks(
    of files: inout MutatedFiles, _ random: inout SeededGenerator
  ) -> String? {
    guard let target = files.pick(&random, { _ in true }) else { return nil }
    if self == .bitsFlipped { return flipBits(of: &files, target, &random) }
    let size = random.pick(512, 4096)
    guard let place = block(of: files, target, size, &random) else { return nil }
    let donors = donors(for: target, in: files)
    guard self == .zeroedBlocks || !donors.isEmpty else { return nil }
    let count = self == .zeroedBlocks ? size * random.pick(1, 1, 2, 8) : size
    var (new, source) = ([UInt8](repeating: 0, count: count), "zeros")
    if let donor = donors.randomElement(using: &random) {
      let from = self == .staleBlock ? place : block(of: donor, size, &random)
      new.replaceSubrange(0..<count, with: donor.bytes.padded(from..<from + count))
      source = "\(from) of \(donor.name)"
    }
    guard files.put(new, at: place, of: target) else { return nil }
    return "\(self): \(count) bytes at \(place) of \(files.files[target].name) from \(source)"
  }

  /// The files that blocks may come from. This mutation says how they have to be related to the
  /// target.
  private func donors(for target: Int, in files: MutatedFiles) -> [LogFile] {
    let (scene, original) = (files.scene, files.original(target))
    let sessions = Set(original.sections.map(\.session))
    let isRelated = { (file: LogFile) in file.sections.contains { sessions.contains($0.session) } }
    let names = Set(scene.files.map(\.name))
    switch self {
    case .staleBlock:
      return scene.relics.filter {
        $0.name == original.name || $0.isRing == original.isRing && isRelated($0)
      }
    case .blockOfOtherSession: return scene.files.filter { !isRelated($0) }
    case .blockOfOtherArchive:
      return scene.files.filter { $0.name != original.name && isRelated($0) }
    case .blockOfDeletedArchive:
      return scene.relics.filter { !$0.isRing && !names.contains($0.name) && isRelated($0) }
    default: return []
    }
  }

  /// The offset of a block that mostly has something in it.
  private func block(
    of files: MutatedFiles, _ target: Int, _ size: Int, _ random: inout SeededGenerator
  ) -> Int? {
    let count = files.files[target].bytes.count
    let part = files.parts(target).randomElement(using: &random)
    let offset =
      part?.range.randomElement(using: &random) ?? Int.random(in: 0..<count, using: &random)
    return offset / size * size
  }

  private func block(of donor: LogFile, _ size: Int, _ random: inout SeededGenerator) -> Int {
    let part = donor.parts.randomElement(using: &random)
    return (part?.range.randomElement(using: &random) ?? 0) / size * size
  }

  private func flipBits(
    of files: inout MutatedFiles, _ target: Int, _ random: inout SeededGenerator
  ) -> String? {
    let count = random.pick(1, 2, 8, 64)
    guard let block = block(of: files, target, 512, &random) else { return nil }
    for _ in 0..<count {
      let offset = min(
        block + Int.random(in: 0..<512, using: &random), files.files[target].bytes.count - 1)
      files.files[target].bytes[offset] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    }
    return "\(self): \(count) in the block at \(block) of \(files.files[target].name)"
  }
}

extension [UInt8] {
  /// A part of the bytes, with zeros behind their end.
  fileprivate func padded(_ range: Range<Int>) -> [UInt8] {
    let part = self[range.clamped(to: 0..<count)]
    return part + [UInt8](repeating: 0, count: range.count - part.count)
  }
}
