import MMLogFormat

extension RingImage {
  /// Whether it says of a record that it was archived, and the archives that should have it do not:
  /// one was cut, or is missing. Those before the first that is here may have been deleted.
  ///
  /// - Parameters:
  ///   - archives: The session's, by rising number.
  ///   - coverage: What they have of it; settled.
  /// - Complexity: O(*n*) in the number of records.
  package func showsGap(in archives: [ArchiveFile], _ coverage: Coverage) -> Bool {
    guard let first = Self.firstTicks(of: archives) else { return false }
    return segments.contains { segment in
      var scanner = scanner(of: segment, looksBehindZeros: false)
      while case .record(let view, let offset) = scanner.next(), offset < segment.header.drained {
        if view.ticks >= first, !isFlight(view),
          !coverage.contains(segment.header, offset: offset, trustsDrained: false)
        {
          return true
        }
      }
      return false
    }
  }

  /// From when on archives should have everything.
  private static func firstTicks(of archives: [ArchiveFile]) -> UInt64? {
    if archives.first?.head.number == 1 { return 0 }
    let frames = archives.lazy.flatMap(\.frames).filter { $0.header.type == .records }
    return frames.first?.header.summary.firstTicks
  }
}
