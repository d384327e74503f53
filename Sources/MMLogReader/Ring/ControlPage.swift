package import MMLogFormat
package import MMLogStorage
package import MMLogSystem

/// A copy of a ring's control page (FORMAT.md, 3). The page is only read, whatever stands in it.
package struct ControlPage {
  private let bytes: [UInt8]
  /// The counts of the statements that are turned on.
  private let counts: [UInt8]

  /// Copies the page.
  ///
  /// - Parameter counts: Where the ring counts the records of statements that are turned on.
  package init(
    _ file: borrowing File, _ place: Range<Int>, _ counts: Range<Int>?
  ) throws(LogError) {
    do throws(SystemError) {
      bytes = try file.bytes(at: place.lowerBound, count: place.count)
      self.counts =
        try counts.map { (counts) throws(SystemError) in
          try file.bytes(at: counts.lowerBound, count: counts.count)
        } ?? []
    } catch {
      throw LogError(error, while: "Reading the ring failed")
    }
    guard bytes.count == place.count else {
      throw LogError(FormatError.truncated, path: file.path)
    }
  }

  /// Copies the page of a ring; nil if the ring has none.
  package init?(_ file: borrowing File, _ areas: RingAreas) throws(LogError) {
    guard let place = areas.control else { return nil }
    try self.init(file, place, areas.switchCounts)
  }

  /// Copies the page of the ring in a file; nil if the ring has none.
  package init?(ofRingAt path: String) throws(LogError) {
    let file = try explaining("Reading the ring failed") { () throws(SystemError) in
      try File.open(path, [.read, .nonBlocking])
    }
    try self.init(file, RingImage.fileHeader(of: file).areas)
  }

  private func load<Word: FixedWidthInteger & BitwiseCopyable>(_ offset: Int) -> Word {
    bytes.withUnsafeBytes { $0.load(offset, as: Word.self) }
  }

  // MARK: - Requests

  /// The newest request for something to be done at once.
  package var request: ControlRequest { ControlRequest(word: load(ControlLayout.request)) }

  /// The newest answer to such a request.
  package var answer: ControlAnswer { ControlAnswer(word: load(ControlLayout.answer)) }

  /// The newest request for levels; nil if there is none.
  package var levelRequest: LevelRequest? {
    bytes.withUnsafeBytes { LevelRequest.newest(inPage: $0) }
  }

  /// The number of the newest request for levels that the process has applied.
  package var appliedLevels: UInt32 { load(ControlLayout.appliedLevels) }

  /// The overrides that somebody outside has set, and that are not over.
  package var overrides: [LevelOverride] { overridesWithCounts.map(\.override) }

  /// ``overrides``, with the number of records that each statement has had since it was turned on,
  /// as of a second ago.
  package var overridesWithCounts: [(override: LevelOverride, count: UInt64?)] {
    guard let request = levelRequest else { return [] }
    // Statements are counted in their order, once the process has seen the request.
    var next = appliedLevels == request.ordinal ? 0 : counts.count
    let all = request.overrides.map { override in
      let start = next
      guard override.rule.statement != nil, start + wordSize <= counts.count else {
        return (override: override, count: UInt64?.none)
      }
      next += wordSize
      return (override, counts.withUnsafeBytes { $0.load(start, as: UInt64.self) })
    }
    let now = Clock.sinceBoot()
    return all.filter { override, count in
      override.holds(at: now) && (override.limit == 0 || count ?? 0 < override.limit)
    }
  }

  // MARK: - What the process says of itself

  /// How many flight records the process has captured.
  package var capturedCount: UInt64 { load(ControlLayout.capturedRecords) }

  /// How many flight records the process has evicted.
  package var forgottenCount: UInt64 { load(ControlLayout.forgottenRecords) }

  /// When the last pass of the drainer ended that did not fail; nil if there was none.
  package var lastPass: Timestamp? {
    let time: Int64 = load(ControlLayout.lastPass)
    return time == 0 ? nil : Timestamp(nanosecondsSince1970: time)
  }

  /// How many passes have failed.
  package var failedPasses: UInt32 { load(ControlLayout.failedPasses) }

  /// How many syncs of archives have failed.
  package var failedSyncs: UInt32 { load(ControlLayout.failedSyncs) }

  /// How many records rate limits have suppressed, as of a second ago.
  package var suppressedCount: UInt64 { load(ControlLayout.suppressed) }

  /// A label of the process.
  package struct Label: Equatable {
    package let name: String
    /// Nil if the process does not say. It says the levels of its first 576 labels, as of a second
    /// ago.
    package let level: Level?
    /// Whether somebody outside has set the level.
    package let isOverridden: Bool
    /// The rate limit that somebody outside has set; nil: the program's own one counts, if there is
    /// one.
    package let limit: RateLimit?
  }

  /// The labels of a ring's dictionary, by name.
  package func labels(_ dictionary: LogDictionary) -> [Label] {
    let rules = overrides.map(\.rule)
    let all = dictionary.labels.map { id, name in
      let place = ControlLayout.labelLevels + Int(id) - 1
      let byte = (1...ControlLayout.labelCount).contains(Int(id)) ? bytes[place] : 0
      let known = byte & ControlLayout.levelMask
      return Label(
        name: name, level: known == 0 ? nil : Level(rawValue: known - 1),
        isOverridden: byte & ControlLayout.overridden != 0, limit: rules.limit(of: name))
    }
    return all.inOrder { $0.name < $1.name }
  }
}
