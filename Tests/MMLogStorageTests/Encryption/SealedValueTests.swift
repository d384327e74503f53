#if Encryption
  import Foundation
  import Glibc
  import MMLog
  import MMLogCrypto
  import MMLogFormat
  import MMLogReader
  import MMLogStorage
  import MMLogSystem
  import TestSupport
  import Testing

  /// Single values that are encrypted in a store that is not.
  ///
  /// The recipients are set for the whole process: only this suite seals values.
  @Suite(.serialized) struct SealedValueTests {
    private let folder = TemporaryDirectory()
    private let recipient: Recipient
    private var logs: String { folder("logs") }

    init() throws {
      folder.put(
        "identity", try #require(PipedProgram.output(of: ["age-keygen"]), "age is missing"))
      recipient = try #require(LogIdentities(files: [folder("identity")]).all.first).recipient
      try Folder.make(logs)
      try Logger.sealValues(for: [recipient])
    }

    private var identities: LogIdentities {
      get throws { try LogIdentities(files: [folder("identity")]) }
    }

    private func store(_ name: String = "test") throws -> LogStore {
      var configuration = LogStore.Configuration()
      configuration.ringSize = 1 << 20
      configuration.drainInterval = .seconds(3600)
      return try LogStore(directory: logs, name: name, configuration: configuration)
    }

    private struct Card: CustomStringConvertible { var description: String { "MARKED card" } }

    /// Logs a value of each kind that is sealed in a way of its own.
    private func logAll(_ log: Logger) {
      let (text, none) = (Optional("MARKED 2"), String?.none)
      log.info("a \("MARKED 1", privacy: .sealed) b \(text, privacy: .sealed)")
      log.info("a \(none, privacy: .sealed) b \(42, name: "n", privacy: .sealed)")
      log.info("a \(1.5, privacy: .sealed) b \(true, privacy: .sealed)")
      log.info("a \(Card(), align: .left(columns: 14), privacy: .sealed)|")
      log.info("a \(Array("MARKED 3".utf8), privacy: .sealed)")
      log.info("m", metadata: ["user": .value("MARKED 4", privacy: .sealed), "n": 1])
      log.with(["user": .value("MARKED 5", privacy: .sealed)]).info("bound")
      log.info("nested", metadata: ["list": [.value("MARKED 6", privacy: .sealed), 2]])
      let large = String(repeating: "MARKED ", count: 20_000)
      log.info("large \(large, privacy: .sealed)")
    }

    private static let sealed = [
      "a <sealed> b <sealed>", "a <sealed> b <sealed>", "a <sealed> b <sealed>",
      "a <sealed>      |",
      "a <sealed>", "m", "bound", "nested", "large <sealed>",
    ]
    private static let opened = [
      "a MARKED 1 b MARKED 2", "a nil b 42", "a 1.5 b true", "a MARKED card   |", "a MARKED 3", "m",
      "bound", "nested", "large " + String(repeating: "MARKED ", count: 20_000),
    ]

    private func expectNoValue(in path: String) throws {
      for name in try Folder.names(path) {
        let bytes = try Folder.read("\(path)/\(name)")
        #expect(bytes.firstRange(of: Array("MARKED".utf8)) == nil, "\(name)")
      }
    }

    private func field(_ name: String, _ identities: LogIdentities = LogIdentities()) -> [Value] {
      LogReader(LogFiles([.path(logs)], identities: identities)).flatMap { item -> [Value] in
        guard case .record(let record) = item else { return [] }
        return record.fields.filter { $0.name == name }.map(\.value)
      }
    }

    @Test("ring, archive and recovery have no value in clear, and whoever has the identity has all")
    func aRoundTrip() throws {
      let store = try store()
      logAll(store.logger(label: "l"))
      try expectNoValue(in: logs)
      #expect(readHere([logs]).records.map(\.message) == Self.sealed)
      // A copy of what the process would leave if it were killed.
      let left = folder("left")
      try Folder.make(left)
      for name in try Folder.names(logs) {
        try Folder.write(Folder.read("\(logs)/\(name)"), to: "\(left)/\(name)")
      }
      try store.close()
      _ = try LogRecovery.recover(left) { Issue.record("\($0)") }
      for path in [logs, left] {
        try expectNoValue(in: path)
        #expect(readHere([path]).records.map(\.message) == Self.sealed)
        #expect(!readHere([path]).hasTrouble)
        let other = try readInPython([path])
        #expect(other.difference(from: readHere([path])) == nil)
      }
      let identities = try identities
      for path in [logs, left] {
        let read = readHere([path], identities: identities)
        #expect(read.records.map(\.message) == Self.opened && !read.hasTrouble)
        if let other = try readEncryptedInPython([path], identity: folder("identity")) {
          #expect(other.difference(from: read) == nil)
        }
      }
      let user = field("user", identities)
      #expect(user == [.string(Array("MARKED 4".utf8)), .string(Array("MARKED 5".utf8))])
      #expect(field("n", identities).first == .string(Array("42".utf8)))
      #expect(
        field("list", identities) == [.array([.string(Array("MARKED 6".utf8)), .int(2)])])
    }

    @Test("only a reader with the identity opens values, however many there are in the process")
    func eachReaderHasItsIdentities() throws {
      var configuration = LogStore.Configuration()
      configuration.fields = ["tenant": .value("MARKED 7", privacy: .sealed)]
      let store = try LogStore(directory: logs, name: "test", configuration: configuration)
      logAll(store.logger(label: "l"))
      try store.close()
      let identities = try identities
      for reader in [identities, LogIdentities(), identities, LogIdentities()] {
        let isOpened = !reader.all.isEmpty
        let text = isOpened ? Self.opened : Self.sealed
        #expect(readHere([logs], identities: reader).records.map(\.message) == text)
        let files = LogFiles([.path(logs)], identities: reader)
        var tenants: [Value] = []
        for case .record(let record) in LogReader(files) {
          tenants += record.session.fields.filter { $0.name == "tenant" }.map(\.value)
        }
        #expect(tenants.count == text.count)
        #expect(tenants.allSatisfy { ($0 == .string(Array("MARKED 7".utf8))) == isOpened })
        var filter = LogReader.Filter()
        filter.text = [try TextPattern("MARKED 1")]
        let matches = LogReader(files, filter: filter).count { item in
          if case .record = item { true } else { false }
        }
        #expect(matches == (isOpened ? 1 : 0))
        let messages = LogReader(files, after: LogReader.Cursor()).compactMap { item -> String? in
          if case .record(let record) = item { record.message } else { nil }
        }
        #expect(messages == text)
      }
    }

    #if DEBUG
      @Test("values that could not be opened for a moment are opened the next time")
      func noMemory() async throws {
        let store = try store()
        logAll(store.logger(label: "l"))
        try await store.close()
        await #expect(processExitsWith: .success) {
          [logs = logs as String, identity = folder("identity") as String] in
          let identities = try LogIdentities(files: [identity])
          func messages() -> [String] {
            readHere([logs], identities: identities).records.map(\.message)
          }
          ForcedFault.force(.mmap, errno: ENOMEM, times: .max, under: "")
          require(messages() != Self.opened)
          ForcedFault.clear(under: "")
          require(messages() == Self.opened)
        }
      }

      @Test("a value for which there is no new key is not sealed, and the next ones are")
      func noKey() async {
        await #expect(processExitsWith: .success) { [recipient = recipient.description as String] in
          try Logger.sealValues(for: [Recipient(recipient)])
          let child = forkProcess()
          if child > 0 { return require(waitFor(child) == 0) }
          let seal = { ValueSealer.seal(UnsafeRawBufferPointer(start: nil, count: 0)) != nil }
          ForcedFault.force(.mmap, errno: ENOMEM, under: "")
          require(!seal())
          require(seal())
          _exit(0)
        }
      }
    #endif

    @Test("the programs show sealed values with an identity, find them, and have them as JSON")
    func programs() throws {
      let store = try store()
      logAll(store.logger(label: "l"))
      try store.close()
      let program = ChildProcess.path(of: "mmlog-decode")
      func decode(_ options: [String]) throws -> String {
        try #require(PipedProgram.output(of: [program] + options + [logs]))
      }
      let identity = ["--identity", folder("identity")]
      #expect(try !decode([]).contains("MARKED"))
      #expect(try decode([]).contains("user=<sealed>"))
      #expect(try decode(["--format", "json"]).contains(#""user":"<sealed>""#))
      #expect(try decode(identity).contains("MARKED 4"))
      #expect(try decode(identity + ["--format", "json"]).contains(#""user":"MARKED 4""#))
      #expect(try decode(identity + ["--grep", "MARKED card"]).contains("MARKED card"))
      #expect(try decode(identity + ["--where", "user == 'MARKED 4'"]).contains("MARKED 4"))
    }

    @Test("a value that was changed, cut, or is for others, is not opened")
    func aChangedValueIsNotOpened() throws {
      let sealed = try #require("MARKED".utf8Bytes { ValueSealer.seal($0) })
      let slots = try #require(identities.slots)
      func opened(_ bytes: [UInt8]) -> [UInt8]? {
        bytes.withUnsafeBytes { SealedValue.open($0, with: slots) }
      }
      #expect(opened(sealed) == Array("MARKED".utf8))
      for bit in 0..<sealed.count * 8 {
        #expect(opened(sealed.flipping(bit: bit)) == nil, "bit \(bit)")
      }
      for count in 0..<sealed.count { #expect(opened(Array(sealed.prefix(count))) == nil) }
      #expect(opened(sealed + [0]) == nil)
      // Two sealed copies of the same value have only the key's slot in common.
      let again = try #require("MARKED".utf8Bytes { ValueSealer.seal($0) })
      #expect(again != sealed && again.prefix(200) == sealed.prefix(200))
      let stranger = try #require(PipedProgram.output(of: ["age-keygen"]))
      try Logger.sealValues(for: Identity.all(in: stranger).map(\.recipient))
      #expect(opened(try #require("x".utf8Bytes { ValueSealer.seal($0) })) == nil)
    }

    @Test("a slot that is for others counts once, however often it comes again")
    func aSlotForOthersCountsOnce() async {
      // In a process of its own, because the recipients are the process's.
      await #expect(processExitsWith: .success) { [identity = folder("identity") as String] in
        let identities = try LogIdentities(files: [identity])
        let slots = try #require(identities.slots)
        // Bytes that are no slot are refused at once. There are more of them than slots are kept
        // open, and they come so often that a count of the tries would have reached the limit.
        for _ in 0..<20 {
          for number in 0..<5000 as Range<UInt32> {
            let head = [4, 0, 0, 0] + withUnsafeBytes(of: number) { Array($0) }
            let sealed = head + [UInt8](repeating: 0, count: Cryptography.nonceSize)
            require(sealed.withUnsafeBytes { SealedValue.open($0, with: slots) } == nil)
          }
        }
        try Logger.sealValues(for: identities.all.map(\.recipient))
        let sealed = try #require("MARKED".utf8Bytes { ValueSealer.seal($0) })
        let opened = sealed.withUnsafeBytes { SealedValue.open($0, with: slots) }
        require(opened == Array("MARKED".utf8))
      }
    }

    @Test("without recipients, nothing of a value is kept")
    func withoutRecipients() throws {
      try Logger.sealValues(for: [])
      let store = try store()
      let log = store.logger(label: "l")
      log.info(
        "a \("MARKED", privacy: .sealed)", metadata: ["k": .value("MARKED", privacy: .sealed)])
      try store.close()
      try expectNoValue(in: logs)
      #expect(readHere([logs]).records.map(\.message) == ["a <private>"])
      #expect(field("k") == [.redacted])
      #expect(throws: LogError.self) {
        try Logger.sealValues(for: Array(repeating: recipient, count: 65))
      }
    }

    @Test(
      "a child of fork seals with a key of its own",
      .disabled(if: hasThreadSanitizer, "it supports no threads in a fork's child"))
    func aChildOfFork() async throws {
      await #expect(processExitsWith: .success) {
        [recipient = recipient.description as String, folder = folder.path as String] in
        try Logger.sealValues(for: [Recipient(recipient)])
        for name in ["parent", "child"] {
          if name == "child" {
            let child = forkProcess()
            if child != 0 {
              require(waitFor(child) == 0)
              _exit(0)
            }
          }
          let sealed = name.utf8Bytes { ValueSealer.seal($0) }
          try Folder.write(sealed ?? [], to: "\(folder)/\(name)")
        }
        _exit(0)
      }
      let slots = try #require(identities.slots)
      let values = try ["parent", "child"].map { try Folder.read(folder($0)) }
      let opened = values.map { $0.withUnsafeBytes { SealedValue.open($0, with: slots) } }
      #expect(opened == [Array("parent".utf8), Array("child".utf8)])
      #expect(values[0].prefix(200) != values[1].prefix(200))
    }
  }

  extension String {
    fileprivate func utf8Bytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
      Array(utf8).withUnsafeBytes(body)
    }
  }
#endif
