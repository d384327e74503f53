import MMLog
import MMLogReader
import Testing
import TestSupport

/// A search for a text passes over frames and records that cannot have it, as call sites and values
/// say. Every record that has the text must be found all the same.
@Suite struct SearchTests {
  /// Records of many shapes in frames of an archive, and the last of them in the ring.
  private func log() throws -> TestStore {
    let made = try TestStore()
    let (log, words) = (
      made.log, ["failure", "beef", "trader-17", "a/b_c", "FADE", "true", "12345", "é"]
    )
    for index in 0..<4000 {
      let word = words[index / 7 % words.count]
      switch index % 8 {
      case 0: log.info("order \(index * 3571) of \(word) in \(Double(index) / 8) ms")
      case 1: log.info("\(word)")
      case 2: log.info("adjacent \(index)\(word)\(index) end")
      case 3: log.info("tail", metadata: ["user": .string(word), "id": .int(Int64(index) * 77)])
      case 4:
        log.info(
          "mask \(index, format: .hex) for \(word, privacy: .hash)",
          metadata: ["k": .bool(index % 3 == 0)])
      case 5: log.info("fai\(word) \((index % 2 == 0 ? nil : index) as Int?)")
      case 6: log.info("wide \(Double(index) * 1e17) \(1 / Double(index + 1)) \(-index * 99_991)")
      default:
        log.info(
          "list \(UInt64.max - UInt64(index))",
          metadata: ["tags": .array([.string(word), .double(0.1)])])
      }
      if index == 1500 || index == 3000 { try made.store.flush(.archive) }
    }
    return made
  }

  @Test("every record that has the text is found") func everyRecordThatHasTheTextIsFound() throws {
    let made = try log()
    try made.store.close()
    let all = Contents(made.folder.path).records
    #expect(all.count == 4000)
    var patterns = [
      "failure", "fail", "ure", "beef", "FADE", "nothing of it", "trader-17", "trader", "17",
      "true", "tru",
      "hash", "nil", "inf", "e+", "12345", "99991", "user=beef", "id=77", "k=true", "a/b_c", "b_",
      "list",
      "order", "ms", "é", "of beef", "deadbeef", "1844674407370955", "xtrue", "e", "fai",
    ]
    // Parts of messages that are there, at a step that no length of a message divides.
    for index in stride(from: 0, to: all.count, by: 97) {
      let message = Array(all[index].message)
      let start = index * 31 % message.count
      patterns.append(String(message[start...].prefix(2 + index % 9)))
      patterns.append(String(message[start...].prefix(3)) + "q")
    }
    for pattern in patterns where !pattern.isEmpty {
      var filter = LogReader.Filter()
      filter.text = [TextPattern(literal: pattern)]
      let found = LogReader(paths: [made.folder.path], filter: filter).compactMap { item in
        if case .record(let record) = item { record.ticks } else { nil }
      }
      // Matches each record by itself: its message and pairs are made, and inspected.
      let expected = all.filter { filter.matchesContent(of: $0) }.map(\.ticks)
      #expect(found == expected, "'\(pattern)': \(found.count) instead of \(expected.count)")
    }
  }

  /// Letters that a hash in metadata could show: frames that can have none are passed over by their
  /// text.
  @Test("letters of a hash are found in text and metadata")
  func lettersOfAHashAreFoundInTextAndMetadata() throws {
    let made = try TestStore()
    for index in 0..<600 {
      let word = index == 150 ? "facade" : "word"
      if index < 300 {
        made.log.info("a \(word) of \(index)")
      } else {
        made.log.info(
          "tail", metadata: ["text": .string(index == 450 ? "facade" : "x"), "id": .int(7)])
      }
      if index % 100 == 99 { try made.store.flush(.archive) }
    }
    try made.store.close()
    var filter = LogReader.Filter()
    filter.text = [TextPattern(literal: "facade")]
    let found = LogReader(paths: [made.folder.path], filter: filter).compactMap { item in
      if case .record(let record) = item { record.message } else { nil }
    }
    #expect(found == ["a facade of 150", "tail"])
  }

  /// Hexadecimal numbers are taken out of strings, so that a frame's text does not have their
  /// letters.
  @Test("letters among hexadecimal digits are found wherever they stand")
  func lettersAmongHexadecimalDigitsAreFound() throws {
    let made = try TestStore()
    let words = ["deadbeef", "facade", "beef", "abcdefabcdefabcdef"]
    var random = SeededGenerator(seed: 19)
    func digits(_ count: Int, _ word: String = "") -> String {
      let digits = (0..<count).map { _ in
        String(UInt8.random(in: 0..<16, using: &random), radix: 16)
      }.joined()
      let start = digits.index(digits.startIndex, offsetBy: .random(in: 0...count, using: &random))
      return digits[..<start] + word + digits[start...]
    }
    func record(_ text: String) {
      Array(text.utf8).withUnsafeBytes { made.log.record(line: $0, .info, isTerminated: true) }
    }
    for frame in 0..<40 {
      let word = frame % 4 == 0 ? words[frame / 4 % words.count] : ""
      for line in 0..<60 {
        // One of a frame's lines has the word, or none.
        let word = line == 30 ? word : ""
        let number = digits([4, 8, 12, 20, 32][frame % 5], word)
        switch line == 30 ? frame / 4 % 5 : line % 5 {
        case 0: record("block \(number) of \(line)")
        case 1: record("at 0x\(number), \(line)")
        case 2: record("at \(number.uppercased())")
        case 3:
          let id = Array(digits(32 - word.count, word))
          let groups = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(id[$0]) }
          record("id \(groups.joined(separator: "-")) here")
        default: made.log.info("of \(number) and \(line)")
        }
      }
      try made.store.flush(.archive)
    }
    try made.store.close()
    let all = Contents(made.folder.path).records
    #expect(all.count == 2400)
    for pattern in words + ["cade", "xdead", "FACADE", "DEADBEEF", "adbee", "efabcdef", "cafebabe"]
    {
      var filter = LogReader.Filter()
      filter.text = [TextPattern(literal: pattern)]
      let found = LogReader(paths: [made.folder.path], filter: filter).compactMap { item in
        if case .record(let record) = item { record.message } else { nil }
      }
      #expect(found == all.map(\.message).filter { $0.contains(pattern) }, "\(pattern)")
    }
  }

  @Test("records come in chunks as they come one by one")
  func recordsComeInChunksAsTheyComeOneByOne() throws {
    let made = try log()
    try made.store.close()
    let reader = LogReader(paths: [made.folder.path])
    var messages: [String] = []
    while let chunk = reader.nextChunk() {
      switch chunk {
      case .records(let records): records.forEach { messages.append($0.message) }
      case .item(.record(let record)): messages.append(record.message)
      case .item: continue
      }
    }
    #expect(messages == Contents(made.folder.path).messages && reader.progress == 1)
  }
}
