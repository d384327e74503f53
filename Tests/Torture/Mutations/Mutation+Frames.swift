import TestSupport

extension Mutation {
  /// Puts whole frames where they do not belong, or takes them away.
  func applyToFrames(
    of files: inout MutatedFiles, _ random: inout SeededGenerator
  ) -> String? {
    guard let target = files.pick(&random, { !files.isRing($0) }),
      let victim = files.parts(target, \.isFrame).randomElement(using: &random)
    else { return nil }
    let name = files.files[target].name
    let text = "\(self): at \(victim.range) of \(name)"
    switch self {
    case .frameRemoved:
      files.files[target].bytes.removeSubrange(victim.range)
      return text
    case .frameCopied, .frameMoved, .framesSwapped, .frameRepeated:
      guard let other = files.parts(target, \.isFrame).randomElement(using: &random),
        other.range != victim.range || self == .frameRepeated
      else { return nil }
      rearrange(&files.files[target].bytes, victim.range, other.range)
      return "\(text) and \(other.range)"
    default:
      guard let donor = donors(for: target, in: files).randomElement(using: &random),
        let frame = donor.frames.randomElement(using: &random)
      else { return nil }
      files.files[target].bytes.replaceSubrange(victim.range, with: donor.bytes[frame.range])
      return "\(text) from \(frame.range) of \(donor.name)"
    }
  }

  private func rearrange(_ bytes: inout [UInt8], _ one: Range<Int>, _ other: Range<Int>) {
    let (first, second) =
      one.lowerBound < other.lowerBound ? (one, other) : (other, one)
    let (a, b) = (Array(bytes[first]), Array(bytes[second]))
    switch self {
    case .frameRepeated: bytes.insert(contentsOf: a, at: second.upperBound)
    case .frameCopied: bytes.replaceSubrange(second, with: a)
    case .frameMoved:
      bytes.insert(contentsOf: a, at: second.upperBound)
      bytes.removeSubrange(first)
    default:
      bytes.replaceSubrange(second, with: a)
      bytes.replaceSubrange(first, with: b)
    }
  }

  private func donors(for target: Int, in files: MutatedFiles) -> [LogFile] {
    let (scene, original) = (files.scene, files.original(target))
    let sessions = Set(original.sections.map(\.session))
    let isRelated = { (file: LogFile) in file.sections.contains { sessions.contains($0.session) } }
    let names = Set(scene.files.map(\.name))
    switch self {
    case .frameOfOtherSession: return scene.files.filter { !$0.isRing && !isRelated($0) }
    case .frameOfOtherArchive:
      return scene.files.filter { !$0.isRing && $0.name != original.name && isRelated($0) }
    default: return scene.relics.filter { !$0.isRing && !names.contains($0.name) && isRelated($0) }
    }
  }
}
