#if SwiftLog
  import Foundation
  import InMemoryLogging
  import Logging
  import MMLog
  import MMLogFormat
  import MMLogReader
  import MMLogSwiftLog
  import TestSupport
  import Testing

  private typealias Logger = Logging.Logger

  /// A store in a folder of its own, and a handler's factory for it.
  private struct HandlerStore {
    let folder = TemporaryDirectory()
    let store: LogStore

    init() throws {
      var configuration = LogStore.Configuration()
      // On a machine with much else to do, the drainer may not get to run for seconds.
      configuration.fullRing = .wait(upTo: .seconds(60))
      store = try LogStore(directory: folder.path, name: "swift-log", configuration: configuration)
    }

    func logger(
      _ label: String = "test", provider: Logger.MetadataProvider? = nil
    ) -> Logger {
      Logger(label: label) { MMLogHandler(label: $0, store: store, metadataProvider: provider) }
    }

    /// Closes the store, and reads what it recorded.
    func closeAndRead() throws -> [LogReader.Record] {
      try store.close()
      return LogReader.records(in: folder)
    }
  }

  /// A record's value as swift-log would have it, numbers and Booleans as texts.
  private func swiftLogValue(_ value: Value) -> Logger.MetadataValue {
    switch value {
    case .string(let bytes): .string(String(decoding: bytes, as: UTF8.self))
    case .array(let values): .array(values.map(swiftLogValue))
    case .dictionary(let pairs): .dictionary(swiftLogMetadata(pairs.map { ($0.key, $0.value) }))
    case .int(let number): .string("\(number)")
    case .uint(let number): .string("\(number)")
    case .double(let number): .string("\(number)")
    case .float(let number): .string("\(number)")
    case .bool(let bool): .string("\(bool)")
    default: .string("\(value)")
    }
  }

  private func swiftLogMetadata(_ fields: [(String, Value)]) -> Logger.Metadata {
    Dictionary(uniqueKeysWithValues: fields.map { ($0, swiftLogValue($1)) })
  }

  extension LogReader.Record {
    /// The fields, as swift-log would have them.
    fileprivate var metadata: Logger.Metadata {
      swiftLogMetadata(fields.map { ($0.name, $0.value) })
    }

    /// The value of a field, if there is one.
    fileprivate subscript(name: String) -> Value? { fields.first { $0.name == name }?.value }
  }

  extension Value {
    /// Whether nothing of it is to be read, nor of what is in it.
    fileprivate var isHidden: Bool {
      switch self {
      case .redacted, .hash, .sealed: true
      case .array(let values): values.allSatisfy(\.isHidden)
      case .dictionary(let pairs): pairs.allSatisfy(\.value.isHidden)
      default: false
      }
    }
  }

  extension Logger.MetadataValue {
    /// The same with the texts of everything that has one.
    fileprivate var asTexts: Logger.MetadataValue {
      switch self {
      case .string: self
      case .stringConvertible(let value): .string(value.description)
      case .array(let values): .array(values.map(\.asTexts))
      case .dictionary(let metadata): .dictionary(metadata.mapValues(\.asTexts))
      }
    }
  }

  @Suite("swift-log")
  struct HandlerTests {
    @Test(
      "holds the same events as swift-log's handler in memory, for the same calls",
      arguments: [1, 2, 3] as [UInt64])
    func sameAsInMemory(seed: UInt64) throws {
      let test = try HandlerStore()
      let memory = InMemoryLogHandler()
      var ours = test.logger()
      var theirs = Logger(label: "test") { _ in memory }
      var random = RandomCalls(seed: seed)
      for _ in 0..<500 { random.call(&ours, &theirs) }
      let records = try test.closeAndRead()
      #expect(records.count == memory.entries.count)
      for (record, entry) in zip(records, memory.entries) {
        var expected = entry.metadata.mapValues(\.asTexts)
        if let error = entry.error {
          expected["error.message"] = "\(error)"
          expected["error.type"] = "\(String(reflecting: type(of: error)))"
        }
        #expect(Logger.Level(record.level) == entry.level)
        #expect(record.message == entry.message.description)
        #expect(record.metadata == expected)
      }
    }

    @Test("says where the call was, and its source if one was given")
    func place() throws {
      let test = try HandlerStore()
      let logger = test.logger("orders.matching")
      logger.info("here")
      let line = #line - 1
      logger.info("elsewhere", source: "Matching")
      logger.info("own", metadata: ["source": "mine"], source: "Matching")
      logger.info("made up", file: "A/b.swift", function: "c()", line: .max)
      let records = try test.closeAndRead()
      #expect(records.map(\.label) == Array(repeating: "orders.matching", count: 4))
      #expect(records[0].file == #fileID)
      #expect(records[0].function == #function)
      #expect(records[0].line == line)
      #expect(records[0].fields.isEmpty)
      #expect(records[1].metadata == ["source": "Matching"])
      #expect(records[2].metadata == ["source": "mine"])
      #expect(records[3].file == "A/b.swift")
      #expect(records[3].function == "c()")
      #expect(records[3].line == Int(UInt32.max))
    }

    @Test("records a source that is given with any file, and none where none is")
    func sources() throws {
      let test = try HandlerStore()
      let logger = test.logger()
      let files = ["", "file.swift", "Module/file.swift", "/a/b.swift", "a/b/c.swift"]
      for file in files {
        logger.info("none", file: file)
        logger.info("given", source: "Given/Source", file: file)
        logger.info("empty", source: "", file: "x" + file)
      }
      // The module says nothing that the file's name does not say.
      logger.info("module", source: "Module", file: "Module/file.swift")
      for (index, record) in try test.closeAndRead().enumerated() {
        let expected: [Logger.Metadata] = [[:], ["source": "Given/Source"], ["source": ""]]
        let isLast = index == 3 * files.count
        #expect(record.metadata == (isLast ? [:] : expected[index % 3]), "\(index)")
      }
    }

    @Test("records dictionaries of all sizes, with texts and names of all kinds")
    func dictionaries() throws {
      let test = try HandlerStore()
      let logger = test.logger()
      func texts(_ number: Int) -> [String] {
        let long = String(repeating: "é\(number) ", count: number % 7 + 3)
        return [
          "", "ä\(number)", "of fifteen byte", "of sixteen bytes",
          "a literal of the program, \u{1F600}", long, String(long.dropFirst()),
          String(decoding: Array(long.utf8), as: UTF8.self),
          String(repeating: "x", count: number * 1000),
        ]
      }
      var expected: [Logger.Metadata] = []
      for size in Array(0...70) + [127, 128, 129, 500] {
        var metadata: Logger.Metadata = [:]
        for number in 0..<size {
          let texts = texts(number)
          let text = texts[number % texts.count]
          let key = number % 3 == 0 ? "a name of more than fifteen bytes, \(number)" : "k\(number)"
          metadata[key] =
            switch number % 5 {
            case 3: .array([.string(text), .stringConvertible(number)])
            case 4: .dictionary(["inner": .string(text)])
            default: .string(text)
            }
        }
        // Where pairs were removed, there are holes.
        for number in stride(from: 1, to: size, by: 4) { metadata["k\(number)"] = nil }
        logger.info("\(size)", metadata: metadata)
        logger.info("\(size)", metadata: metadata)
        expected += [metadata, metadata]
      }
      let records = try test.closeAndRead()
      #expect(records.count == expected.count)
      for (record, metadata) in zip(records, expected) {
        #expect(record.metadata == metadata.mapValues(\.asTexts), "\(record.message)")
      }
    }

    @available(*, deprecated)
    @Test("records what other handlers pass on by swift-log's older methods, as its own event")
    func olderMethods() throws {
      let test = try HandlerStore()
      let handler: any LogHandler = MMLogHandler(
        label: "test", store: test.store, metadataProvider: nil)
      handler.log(
        level: .error, message: "older", metadata: ["a": "1"], source: "Matching",
        file: "Module/file.swift", function: "f()", line: 7)
      handler.log(
        level: .info, message: "oldest", metadata: nil, file: "Module/file.swift",
        function: "g()", line: 8)
      let records = try test.closeAndRead()
      #expect(records.map(\.message) == ["older", "oldest"])
      #expect(records.map(\.metadata) == [["a": "1", "source": "Matching"], [:]])
      #expect(records.map(\.level) == [.error, .info] && records.map(\.line) == [7, 8])
      #expect(records[0].file == "Module/file.swift" && records[0].function == "f()")
    }

    @Test("records no source where none is wanted")
    func withoutSource() throws {
      let test = try HandlerStore()
      let logger = Logger(label: "l") {
        var handler = MMLogHandler(label: $0, store: test.store)
        handler.recordsSource = false
        return handler
      }
      logger.info("one", source: "Matching")
      logger.info("two", metadata: ["source": "mine"], source: "Matching")
      let records = try test.closeAndRead()
      #expect(records[0].metadata.isEmpty)
      #expect(records[1].metadata == ["source": "mine"])
    }

    @Test("keeps the types of numbers and Booleans")
    func types() throws {
      let test = try HandlerStore()
      test.logger().info(
        "typed",
        metadata: [
          "i": .stringConvertible(-7), "u": .stringConvertible(UInt64.max),
          "d": .stringConvertible(1.5), "b": .stringConvertible(true),
          "c": .stringConvertible(Character("x")),
          "i32": .stringConvertible(Int32.min), "i16": .stringConvertible(Int16.min),
          "i8": .stringConvertible(Int8.min), "u32": .stringConvertible(UInt32.max),
          "u16": .stringConvertible(UInt16.max), "u8": .stringConvertible(UInt8.max),
          "f": .stringConvertible(Float(0.1)),
        ])
      let record = try #require(try test.closeAndRead().first)
      #expect(record["i"] == .int(-7))
      #expect(record["u"] == .uint(.max))
      #expect(record["d"] == .double(1.5))
      #expect(record["b"] == .bool(true))
      #expect(record["c"] == .string([UInt8(ascii: "x")]))
      #expect(record["i32"] == .int(Int64(Int32.min)) && record["i16"] == .int(-32_768))
      #expect(record["i8"] == .int(-128) && record["u32"] == .uint(UInt64(UInt32.max)))
      #expect(record["u16"] == .uint(65_535) && record["u8"] == .uint(255))
      #expect(record["f"] == .float(0.1))
    }

    @Test("the event's metadata goes before the provider's, and that before the logger's")
    func precedence() throws {
      let test = try HandlerStore()
      var logger = test.logger(
        provider: Logger.MetadataProvider { ["b": "provider", "c": "provider"] })
      logger[metadataKey: "a"] = "logger"
      logger[metadataKey: "b"] = "logger"
      logger[metadataKey: "c"] = "logger"
      logger.info("merged", metadata: ["c": "event", "d": "event"])
      let record = try #require(try test.closeAndRead().first)
      let expected: Logger.Metadata = ["a": "logger", "b": "provider", "c": "event", "d": "event"]
      #expect(record.metadata == expected)
    }

    @Test("a provider sees the values of the task that logs")
    func taskLocals() async throws {
      enum Trace { @TaskLocal static var id = "none" }
      let test = try HandlerStore()
      let logger = test.logger(provider: Logger.MetadataProvider { ["trace": .string(Trace.id)] })
      await withTaskGroup { group in
        for index in 0..<20 {
          group.addTask { Trace.$id.withValue("t\(index)") { logger.info("in t\(index)") } }
        }
      }
      let records = try test.closeAndRead()
      #expect(records.count == 20)
      for record in records {
        let trace = String(record.message.dropFirst(3))
        #expect(record.metadata == ["trace": .string(trace)])
      }
    }

    @Test("values marked private never reach the disk, and hashes are equal for equal values")
    func privacy() throws {
      let test = try HandlerStore()
      let secret: Logger.MetadataValue = .attributed(
        "hunter2-secret", attributes: [ValuePrivacy.private])
      let hashed: Logger.MetadataValue = .attributed(
        "alice-secret", attributes: [ValuePrivacy.hash])
      let open: Logger.MetadataValue = .attributed("seen", attributes: [ValuePrivacy.public])
      let logger = test.logger()
      for _ in 0..<2 {
        logger.info("in", metadata: ["p": secret, "h": hashed, "o": open, "n": ["p": secret]])
      }
      let records = try test.closeAndRead()
      #expect(records[0]["p"] == .redacted)
      #expect(records[0]["o"] == .string(Array("seen".utf8)))
      #expect(records[0]["n"] == .dictionary([("p", .redacted)]))
      guard case .hash = records[0]["h"] else {
        Issue.record("no hash: \(String(describing: records[0]["h"]))")
        return
      }
      #expect(records[0]["h"] == records[1]["h"])
      for file in try FileManager.default.subpathsOfDirectory(atPath: test.folder.path) {
        let bytes = FileManager.default.contents(atPath: test.folder(file)) ?? Data()
        #expect(bytes.range(of: Data("secret".utf8)) == nil, "\(file)")
      }
    }

    @Test(
      "what a handler says of values without attributes holds for texts, numbers and errors",
      arguments: [.private, .hash, .sealed] as [ValuePrivacy])
    func plainValues(privacy: ValuePrivacy) throws {
      struct Refusal: Error, CustomStringConvertible { var description = "secret-of-error" }
      let test = try HandlerStore()
      let kept =
        privacy == .hash ? MMLogHandler.Privacy.hash : privacy == .sealed ? .sealed : .private
      func logger(_ provider: Logger.MetadataProvider?) -> Logger {
        Logger(label: "test") {
          var handler = MMLogHandler(label: $0, store: test.store, metadataProvider: provider)
          handler.privacy = { $0[ValuePrivacy.self] == .public ? .public : kept }
          return handler
        }
      }
      let plain = logger(nil)
      var other = logger(Logger.MetadataProvider { ["provided": "secret-provided"] })
      other[metadataKey: "own"] = "secret-own"
      let open: Logger.MetadataValue = .attributed("open", attributes: [ValuePrivacy.public])
      let metadata: Logger.Metadata = [
        "user": "secret", "a long name of a user": "secret-of-more-than-fifteen-bytes",
        "n": .stringConvertible(7), "flag": .stringConvertible(true), "open": open,
        "array": ["secret-one", .stringConvertible(8)], "pairs": ["inner": "secret-inner"],
      ]
      for logger in [plain, plain, other] { logger.info("in", metadata: metadata) }
      for logger in [plain, other] { logger.info("in", error: Refusal(), metadata: metadata) }
      let records = try test.closeAndRead()
      #expect(records.map(\.fields.count) == [7, 7, 9, 9, 11])
      for record in records {
        #expect(record["open"] == .string(Array("open".utf8)))
        let hidden = record.fields.filter { !["open", "error.type"].contains($0.name) }
        for field in hidden { #expect(field.value.isHidden, "\(field)") }
      }
      #expect(privacy != .hash || records[0]["user"] == records[1]["user"])
      for file in try FileManager.default.subpathsOfDirectory(atPath: test.folder.path) {
        let bytes = FileManager.default.contents(atPath: test.folder(file)) ?? Data()
        #expect(bytes.range(of: Data("secret".utf8)) == nil, "\(file)")
      }
    }

    @Test("a label that is off records no critical event, unless its statement is turned on")
    func off() throws {
      let test = try HandlerStore()
      let logger = test.logger("db.pool")
      var own = test.logger("db.pool")
      own.logLevel = .trace
      func critical(_ logger: Logger, _ message: Logger.Message, line: UInt = 1) {
        logger.critical(message, line: line)
      }
      critical(logger, "at the start")
      test.store.setLevel(.off, for: "db.pool")
      critical(logger, "off")
      critical(own, "by its own level")
      let ring = try #require(
        try LiveRing.all(in: test.folder.path) { Issue.record("\($0)") }.first)
      func set(_ rules: [LevelRule]) throws {
        let ordinal = try ring.askForLevels { _ in rules.map { LevelOverride($0, expiry: 0) } }
        try ring.waitForLevels(ordinal, within: 300_000_000_000)
      }
      try set([LevelRule(.off, for: "db.pool")])
      critical(own, "off from outside")
      let statement = try #require(LevelRule.Statement("HandlerTests.swift:2"))
      try set([LevelRule(.off, for: "db.pool"), LevelRule(statement, of: "*")])
      critical(logger, "another statement")
      critical(own, "another statement")
      critical(logger, "turned on", line: 2)
      critical(own, "turned on", line: 2)
      try set([])
      test.store.setLevel(.critical, for: "db.pool")
      critical(logger, "on again")
      #expect(
        try test.closeAndRead().map(\.message) == [
          "at the start", "by its own level", "turned on", "turned on", "on again",
        ])
    }

    @Test("pairs are in the order of their keys, however their dictionary has them")
    func order() throws {
      let test = try HandlerStore()
      var logger = test.logger(provider: Logger.MetadataProvider { ["p2": "1", "p1": "2"] })
      logger[metadataKey: "o2"] = "1"
      logger[metadataKey: "o1"] = "2"
      let plain = Logger(label: "test") {
        MMLogHandler(label: $0, store: test.store, metadataProvider: nil)
      }
      let keys = [
        "id", "user", "http.request.method", "http.request.size", "http.route", "é",
        "a name with é",
        "a name with f", "z", "",
      ]
      var random = SeededGenerator(seed: 7)
      // Of dictionaries of other capacities, too, whose hashes are others.
      for round in 0..<20 {
        var metadata = Logger.Metadata(minimumCapacity: 10 << (round % 4))
        for key in keys.shuffled(using: &random) { metadata[key] = "\(round)" }
        plain.info("plain", metadata: metadata)
        logger.info("merged", metadata: metadata)
      }
      // So many are sorted.
      let many = Dictionary(
        uniqueKeysWithValues: (10..<42).map { ("k\($0)", Logger.MetadataValue.string("v")) })
      plain.info("many", metadata: many)
      let records = try test.closeAndRead()
      let sorted = keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
      for record in records {
        let expected =
          switch record.message {
          case "plain": sorted
          case "merged": sorted + ["p1", "p2", "o1", "o2"]
          default: (10..<42).map { "k\($0)" }
          }
        #expect(record.fields.map(\.name) == expected, "\(record.message)")
      }
    }

    @Test("a handler's level is the label's until it is set, and then its own and its copies'")
    func levels() throws {
      let test = try HandlerStore()
      let shared = test.logger("a")
      var own = test.logger("a")
      #expect(shared.logLevel == .info)
      test.store.setLevel(.debug, for: "a")
      #expect(shared.logLevel == .debug)
      own.logLevel = .trace
      let copy = own
      #expect((shared.logLevel, own.logLevel, copy.logLevel) == (.debug, .trace, .trace))
      test.store.setLevel(.error, for: "*")
      shared.warning("not")
      own.trace("traced")
      copy.trace("by a copy")
      own.logLevel = .critical
      own.error("not either")
      copy.trace("by the copy still")
      #expect(
        try test.closeAndRead().map(\.message) == ["traced", "by a copy", "by the copy still"])
    }

    @Test("copies that many tasks change and use at once stay apart")
    func copies() async throws {
      let test = try HandlerStore()
      let logger = test.logger()
      await withTaskGroup { group in
        for task in 0..<8 {
          group.addTask {
            var copy = logger
            for index in 0..<200 {
              copy[metadataKey: "task"] = "\(task)"
              copy[metadataKey: "index"] = .stringConvertible(index)
              copy.info("\(task) \(index)")
            }
          }
        }
      }
      let records = try test.closeAndRead()
      #expect(records.count == 1600)
      for record in records {
        let metadata = record.metadata
        #expect(record.message == "\(metadata["task"] ?? "") \(metadata["index"] ?? "")")
      }
    }

    @Test("ten thousand keys and values of a mebibyte are kept")
    func large() throws {
      let test = try HandlerStore()
      let many = Dictionary(
        uniqueKeysWithValues: (0..<10_000).map { ("k\($0)", Logger.MetadataValue.string("v\($0)")) }
      )
      let long = String(repeating: "x", count: 1 << 20)
      test.logger().info("many", metadata: many)
      test.logger().info("long", metadata: ["long": .string(long)])
      let records = try test.closeAndRead()
      #expect(records[0].metadata == many)
      #expect(records[1].fields.first?.value == .string(Array(long.utf8)))
    }

    @Test("metadata that logs when its text is made is recorded, and so is what it logs")
    func nested() throws {
      struct Talker: CustomStringConvertible, Sendable {
        let logger: Logger
        var description: String {
          logger.info("inner")
          return "talked"
        }
      }
      let test = try HandlerStore()
      let logger = test.logger()
      logger.info("outer", metadata: ["t": .stringConvertible(Talker(logger: logger))])
      let records = try test.closeAndRead()
      #expect(Set(records.map(\.message)) == ["outer", "inner"])
      let outer = try #require(records.first { $0.message == "outer" })
      #expect(outer.fields.first?.value == .string(Array("talked".utf8)))
    }

    @Test(
      "a process's calls are recorded from the bootstrap to its exit, in deinit and exit handlers too"
    )
    func wholeProcess() async throws {
      let folder = TemporaryDirectory()
      await #expect(processExitsWith: .success) { [path = folder.path as String] in
        final class Talker {
          deinit { Logger(label: "object").info("in deinit") }
        }
        let early = Logger(label: "early")
        early.info("printed")
        let store = try LogStore(directory: path, name: "swift-log")
        LoggingSystem.bootstrap { MMLogHandler(label: $0, store: store) }
        early.info("printed, too: its handler was made before")
        atexit { Logger(label: "exit").info("in an exit handler") }
        Logger(label: "late").info("running")
        do { _ = Talker() }
        exit(0)
      }
      let messages = LogReader(paths: [folder.path]).compactMap {
        if case .record(let record) = $0 { "\(record.label): \(record.message)" } else { nil }
      }
      #expect(messages == ["late: running", "object: in deinit", "exit: in an exit handler"])
    }

    @Test("after the store is closed, calls are dropped and counted")
    func afterClosing() throws {
      let test = try HandlerStore()
      let logger = test.logger()
      logger.info("before")
      try test.store.close()
      logger.info("after")
      logger.error("after", metadata: ["k": "v"])
      #expect(LossLedger.Cause.allCases.reduce(0) { $0 + test.store.losses.total($1) } == 2)
      #expect(try test.closeAndRead().map(\.message) == ["before"])
    }
  }

  /// Calls that are made of two loggers alike.
  private struct RandomCalls {
    private enum Failure: Error { case first, second(code: Int) }

    private var random: SeededGenerator

    init(seed: UInt64) {
      print("swift-log: calls with seed \(seed)")
      random = SeededGenerator(seed: seed)
    }

    mutating func call(_ a: inout Logger, _ b: inout Logger) {
      switch Int.random(in: 0..<10, using: &random) {
      case 0:
        let level = level()
        a.logLevel = level
        b.logLevel = level
      case 1:
        let (key, value) = (key(), random.oneIn(3) ? nil : value(depth: 0))
        a[metadataKey: key] = value
        b[metadataKey: key] = value
      default:
        let (level, message) = (level(), Logger.Message(stringLiteral: text()))
        let metadata = random.oneIn(3) ? nil : metadata(depth: 0)
        let error: (any Error)? = random.pick(nil, nil, Failure.first, Failure.second(code: 3))
        a.log(level: level, message, error: error, metadata: metadata)
        b.log(level: level, message, error: error, metadata: metadata)
      }
    }

    private mutating func level() -> Logger.Level {
      Logger.Level.allCases.randomElement(using: &random) ?? .info
    }

    private mutating func key() -> String { "key \(Int.random(in: 0..<8, using: &random))" }

    private mutating func text() -> String {
      String((0..<random.scaled(0...200)).map { _ in random.pick("a", "ä", "😀", "\n", "\0", "\"") })
    }

    private mutating func metadata(depth: Int) -> Logger.Metadata {
      var metadata: Logger.Metadata = [:]
      for _ in 0..<random.scaled(0...6) { metadata[key()] = value(depth: depth) }
      return metadata
    }

    private mutating func value(depth: Int) -> Logger.MetadataValue {
      switch Int.random(in: 0..<(depth < 3 ? 9 : 7), using: &random) {
      case 0, 1: .string(text())
      case 2: .stringConvertible(Int.random(in: .min ... .max, using: &random))
      case 3: .stringConvertible(Double.random(in: -1e9...1e9, using: &random))
      case 4: .stringConvertible(Float.random(in: -1...1, using: &random))
      case 5: .stringConvertible(Bool.random(using: &random))
      case 6: .stringConvertible([1, 2, 3])
      case 7: .array((0..<3).map { _ in value(depth: depth + 1) })
      default: .dictionary(metadata(depth: depth + 1))
      }
    }
  }
#endif
