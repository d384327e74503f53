import MMLogFormat
import TestSupport

extension Mutation {
  /// Corrupts bytes that say what a file, or a part of it, is.
  func applyToHeaders(
    of files: inout MutatedFiles, _ random: inout SeededGenerator
  ) -> String? {
    guard let target = files.pick(&random, { isFor(files, $0) }),
      let place = place(in: files, target, &random)
    else { return nil }
    guard
      files.put(
        random.pick(random.bytes(place.count), zeros(place)), at: place.lowerBound, of: target)
    else { return nil }
    return "\(self): \(place) of \(files.files[target].name)"
  }

  private func zeros(_ place: Range<Int>) -> [UInt8] { [UInt8](repeating: 0, count: place.count) }

  private func isFor(_ files: MutatedFiles, _ index: Int) -> Bool {
    switch self {
    case .clockPairBad, .segmentHeaderBad, .ringAreasBad: files.isRing(index)
    case .fileHeaderLost, .headerBytesBad: true
    default: !files.isRing(index)
    }
  }

  private func place(
    in files: MutatedFiles, _ target: Int, _ random: inout SeededGenerator
  ) -> Range<Int>? {
    let parts = files.parts(target)
    let (fileHeaders, trailers) = (
      parts.filter { $0.kind == .fileHeader }, parts.filter { $0.kind == .trailer }
    )
    switch self {
    case .fileHeaderLost: return 0..<FileHeaderLayout.size
    case .laterFileHeaderLost: return fileHeaders.dropFirst().randomElement(using: &random)?.range
    case .trailerLost: return trailers.randomElement(using: &random)?.range
    case .trailerAndFileHeaderLost:
      // The sectors that the trailer and the file header are in.
      guard let trailer = trailers.randomElement(using: &random)?.range else { return nil }
      let end = min(trailer.upperBound + FileHeaderLayout.size, files.files[target].bytes.count)
      return trailer.lowerBound / 512 * 512..<end
    case .headerBytesBad:
      guard let part = parts.randomElement(using: &random) else { return nil }
      let size = min(
        part.kind == .fileHeader ? FileHeaderLayout.size : FrameLayout.size, part.range.count)
      let offset = part.range.lowerBound + Int.random(in: 0..<size / 8, using: &random) * 8
      return offset..<offset + 8
    case .clockPairBad:
      let pair = random.pick(RingLayout.firstClockPair, RingLayout.clockPairSlots)
      let offset = pair + Int.random(in: 0..<ClockPairLayout.size / 8, using: &random) * 8
      return offset..<offset + 8
    case .segmentHeaderBad:
      guard let segment = parts.dropFirst(2).randomElement(using: &random) else { return nil }
      let offset = segment.range.lowerBound + Int.random(in: 0..<8, using: &random) * 8
      return offset..<offset + random.pick(8, 64)
    default:
      let offset = Int.random(in: RingLayout.fileSize..<RingLayout.firstClockPair, using: &random)
      return offset..<offset + random.pick(4, 8, 16)
    }
  }
}
