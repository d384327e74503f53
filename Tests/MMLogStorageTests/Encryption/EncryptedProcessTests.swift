#if Encryption
  import Foundation
  import Glibc
  import MMLogCrypto
  import MMLogFormat
  import MMLogReader
  import MMLogStorage
  import MMLogSystem
  import TestSupport
  import Testing

  @testable import MMLog

  /// What a process with an encrypted ring has in memory, what it leaves when it dies, and what it
  /// can do without.
  @Suite struct EncryptedProcessTests {
    private let folder = TemporaryDirectory()
    private let identities: LogIdentities
    private let recipient: String
    private var logs: String { folder("logs") }

    init() throws {
      folder.put(
        "identity", try #require(PipedProgram.output(of: ["age-keygen"]), "age is missing"))
      identities = try LogIdentities(files: [folder("identity")])
      recipient = try #require(identities.all.first).recipient.description
      try Folder.make(logs)
    }

    private static func open(
      _ path: String, _ recipient: String,
      _ change: (inout LogStore.Configuration) -> Void = { _ in }
    ) throws -> LogStore {
      var configuration = LogStore.Configuration()
      configuration.recipients = [try Recipient(recipient)]
      configuration.ringSize = 1 << 20
      configuration.segmentSize = 4096
      configuration.drainInterval = .seconds(3600)
      change(&configuration)
      return try LogStore(directory: path, name: "test", configuration: configuration)
    }

    /// Logs values that stand nowhere else.
    private static func log(_ log: Logger, _ name: String, _ numbers: Range<Int>) {
      for number in numbers {
        log.info("\(name, privacy: .public) \(number) \("MARKED", privacy: .public)")
      }
    }

    private static func messages(_ name: String, _ numbers: Range<Int>) -> [String] {
      numbers.map { "\(name) \($0) MARKED" }
    }

    private func sessions() -> Set<[String]> {
      let read = readHere([logs], identities: identities)
      #expect(!read.hasTrouble)
      return Set(Dictionary(grouping: read.records, by: \.session).values.map { $0.map(\.message) })
    }

    /// The keys of rings and archives, and parts of all streams that may be in memory.
    private func secrets() throws -> [[UInt8]] {
      var secrets: [[UInt8]] = []
      for name in try Folder.names(logs) {
        let path = "\(logs)/\(name)"
        if name.hasSuffix(".mmlog") {
          for archive in try ArchiveFile.all(in: File.open(path, .read)) {
            let frame = try #require(archive.frames.first { $0.header.type == .keySlot })
            let key = try SlottedKey(opening: archive.payload(of: frame), with: identities.all)
            secrets.append(key.key.withBytes { Array($0) })
          }
        }
        guard name.hasSuffix(".ring") else { continue }
        let ring = try RingImage(File.open(path, .read))
        let cipher = try RingCipher.open(ring.keySlots, with: identities.all).get()
        secrets.append(cipher.key.key.withBytes { Array($0) })
        for stream in 0..<(64 as UInt64) {
          var part = [UInt8](repeating: 0, count: 32)
          try part.withUnsafeMutableBytes { try cipher.fill($0, ofStream: stream, from: 1024) }
          secrets.append(part)
        }
      }
      return secrets
    }

    /// - Returns: The indexes of the secrets that are in a file.
    private func found(_ secrets: [[UInt8]], in name: String) throws -> [Int] {
      let bytes = try Data(contentsOf: URL(fileURLWithPath: folder(name)), options: .alwaysMapped)
      return bytes.withUnsafeBytes { bytes in
        secrets.indices.filter { ByteSearch.first(secrets[$0], in: bytes, from: 0) != nil }
      }
    }

    @Test("neither keys nor streams are in a core dump")
    func theyAreInNoCoreDump() async throws {
      await #expect(processExitsWith: .success) {
        [logs = logs as String, recipient = recipient as String, dump = folder("core") as String] in
        let store = try Self.open(logs, recipient)
        Self.log(store.logger(label: "l"), "record", 0..<100)
        try store.flush(.archive)
        Self.log(store.logger(label: "l"), "record", 100..<200)
        let control = strdup(recipient)
        try MemoryDump.write(to: dump)
        Glibc.free(control)
        _exit(0)
      }
      let secrets = try secrets()
      #expect(secrets.count == 66)
      #expect(try found(secrets, in: "core") == [])
      // Something that has to be in the dump is found there.
      #expect(try found([Array(recipient.utf8.prefix(32))], in: "core") == [0])
      #expect(sessions() == [Self.messages("record", 0..<200)])
    }

    @Test(
      "a child of fork has none of its parent's, and logs into a ring of its own",
      .disabled(if: hasThreadSanitizer, "it supports no threads in a fork's child"))
    func fork() async throws {
      await #expect(processExitsWith: .success) {
        [logs = logs as String, recipient = recipient as String, dump = folder("child") as String]
        in
        let store = try Self.open(logs, recipient)
        let log = store.logger(label: "l")
        Self.log(log, "parent", 0..<100)
        try store.flush(.archive)
        let child = forkProcess()
        if child == 0 {
          try MemoryDump.write(to: dump, isWhole: true)
          Self.log(log, "child", 0..<100)
          kill(getpid(), SIGKILL)
        }
        require(waitFor(child) == SIGKILL)
        Self.log(log, "parent", 100..<200)
        require(store.losses.isEmpty)
        _exit(0)
      }
      // Two rings and an archive.
      let secrets = try secrets()
      #expect(secrets.count == 2 * 65 + 1)
      #expect(try found(secrets, in: "child") == [])
      #expect(
        sessions() == [Self.messages("parent", 0..<200), Self.messages("child", 0..<100)])
      _ = try LogRecovery.recover(logs) { Issue.record("\($0)") }
      #expect(
        sessions() == [Self.messages("parent", 0..<200), Self.messages("child", 0..<100)])
      for name in try Folder.names(logs) {
        let bytes = try Folder.read("\(logs)/\(name)")
        #expect(bytes.firstRange(of: Array("MARKED".utf8)) == nil, "\(name)")
      }
    }

    #if DEBUG
      @Test(
        "a call for which no stream is made in time gives up one segment, and not more",
        arguments: [LogStore.FullRingPolicy.dropNewest, .overwriteOldest])
      func lateStreams(policy: LogStore.FullRingPolicy) throws {
        let isRecorder = policy == .dropNewest
        let store = try Self.open(logs, recipient) {
          ($0.fullRing, $0.level) = (policy, .trace)
          if isRecorder { $0.archiveLevel = .info }
        }
        let log = store.logger(label: "l")
        let ring = try #require(store.core.open?.session.ring)
        let status = isRecorder ? SegmentPool.Status.retained : .sealed
        func givable() -> Int { (0..<ring.pool.count).count { ring.pool.status($0) == status } }
        if !isRecorder {
          ForcedFault.force(.pwrite, errno: ENOSPC, times: .max, under: logs)
        }
        let filler = String(repeating: "f", count: 1000)
        // Twice as much as the ring has room for.
        for number in 0..<2000 {
          log.debug("\(number) \(filler, privacy: .public)")
          if isRecorder, number % 100 == 0 { try store.flush(.archive) }
        }
        let earlier = store.losses.total(.ringFull)
        // No thread makes streams any more. The drainer, which gives up retained segments, too, is
        // not at work.
        let passLocks = try #require(store.core.open).drainer.passLocks
        for passLock in passLocks { passLock.lock() }
        var before = givable()
        while store.losses.total(.ringFull) == earlier {
          before = givable()
          log.debug("\(filler, privacy: .public)")
        }
        #expect(before - givable() <= 1)
        for passLock in passLocks { passLock.unlock() }
        ForcedFault.clear(under: logs)
        try store.close()
      }
    #endif

    @Test("where no memory may be locked, everything is as usual")
    func memoryThatIsNotLocked() async throws {
      chmod(folder.path, 0o711)
      if geteuid() == 0 { chown(logs, 65534, 65534) }
      await #expect(processExitsWith: .success) {
        [logs = logs as String, recipient = recipient as String] in
        var limit = rlimit(rlim_cur: 0, rlim_max: 0)
        require(setrlimit(__rlimit_resource_t(__RLIMIT_MEMLOCK.rawValue), &limit) == 0)
        // Root may lock as much as it wants.
        if geteuid() == 0 { require(setuid(65534) == 0) }
        require(try !SecretKey.random().isProtected)
        let store = try Self.open(logs, recipient)
        Self.log(store.logger(label: "l"), "record", 0..<1000)
        require(store.losses.isEmpty)
        _exit(0)
      }
      #expect(sessions() == [Self.messages("record", 0..<1000)])
    }

    @Test("a fatal signal's report is encrypted, but for what it was and when")
    func crash() async throws {
      await #expect(processExitsWith: .signal(SIGSEGV)) {
        [logs = logs as String, recipient = recipient as String] in
        let store = try Self.open(logs, recipient) { $0.recordsCrashes = true }
        Self.log(store.logger(label: "l"), "record", 0..<10)
        raise(SIGSEGV)
      }
      func report(_ identities: LogIdentities) -> CrashReport? {
        LogReader(LogFiles([.path(logs)], identities: identities)).lazy.compactMap {
          if case .crashed(_, let report) = $0 { report } else { nil }
        }.first
      }
      for isRecovered in [false, true] {
        if isRecovered { _ = try LogRecovery.recover(logs) { Issue.record("\($0)") } }
        // All of a crash report in an archive is encrypted.
        let closed = report(LogIdentities())
        #expect((closed == nil) == isRecovered)
        if let closed {
          #expect(closed.signal == SIGSEGV && closed.time > 0 && closed.isEncrypted)
          #expect(closed.frames.isEmpty && closed.registers.isEmpty && closed.modules.isEmpty)
        }
        let open = try #require(report(identities))
        #expect(open.signal == SIGSEGV && !open.isEncrypted)
        #expect(open.frames.count > 2 && open.modules.contains { $0.path.contains("libc.so") })
        // The paths of libraries are not in clear in any file.
        for name in try Folder.names(logs) {
          let bytes = try Folder.read("\(logs)/\(name)")
          #expect(bytes.firstRange(of: Array("/libc.so".utf8)) == nil, "\(name)")
        }
      }
    }

    @Test("what a signal handler records is encrypted, and counted where no segment has a stream")
    func signals() throws {
      let store = try Self.open(logs, recipient) {
        ($0.servesSignalHandlers, $0.fullRing) = (true, .dropNewest)
        $0.ringSize = 256 << 10
      }
      let log = store.logger(label: "l")
      #expect(log.recordInSignalHandler(.critical, "MARKED by a signal", number: 15))
      let streams = try #require(store.core.open?.session.ring.streams)
      // No thread makes streams any more.
      streams.passLock.lock()
      var (recorded, lost) = (1, 0)
      while lost < 100 {
        let isRecorded = log.recordInSignalHandler(.info, "MARKED", number: 1)
        if isRecorded { recorded += 1 } else { lost += 1 }
        try #require(recorded < 10_000)
      }
      #expect(streams.isMaking && store.losses[.ringFull, .info] == 100)
      streams.passLock.unlock()
      streams.wake()
      var tries = 0
      while !log.recordInSignalHandler(.info, "MARKED", number: 2), tries < 100_000 {
        tries += 1
        usleep(100)
      }
      #expect(tries < 100_000)
      for name in try Folder.names(logs) {
        // The file may have another name by now.
        guard let bytes = try? Folder.read("\(logs)/\(name)") else { continue }
        #expect(bytes.firstRange(of: Array("MARKED".utf8)) == nil, "\(name)")
      }
      try store.close()
      let read = readHere([logs], identities: identities)
      #expect(read.records.count == recorded + 1)
      #expect(read.records.first?.message == "MARKED by a signal 15")
    }

    #if DEBUG
      @Test("without random numbers no store opens, and nothing is left")
      func noRandomNumbers() async throws {
        await #expect(processExitsWith: .success) {
          [logs = logs as String, recipient = recipient as String] in
          ForcedFault.force(.getrandom, errno: EIO, times: .max, under: "")
          do {
            _ = try Self.open(logs, recipient)
            require(false)
          } catch let error as LogError {
            require(error.message.contains("getrandom"), error.message)
          }
          ForcedFault.clear(under: "")
          let store = try Self.open(logs, recipient)
          Self.log(store.logger(label: "l"), "record", 0..<1)
          try store.close()
        }
        #expect(try Folder.names(logs).filter { $0.hasSuffix(".ring") } == [])
        #expect(sessions() == [Self.messages("record", 0..<1)])
      }
    #endif
  }

  /// What a process has in its memory.
  private enum MemoryDump {
    /// Writes all memory that the kernel would write into a core dump, and more.
    ///
    /// - Parameter isWhole: Whether to write what core dumps leave out, too.
    static func write(to path: String, isWhole: Bool = false) throws {
      let memory = Glibc.open("/proc/self/mem", O_RDONLY)
      let target = Glibc.open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
      require(memory >= 0 && target >= 0)
      let size = 1 << 20
      let buffer = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 4096)
      for range in try ranges(isWhole) {
        var start = range.lowerBound
        while start < range.upperBound {
          let count = pread(memory, buffer, min(size, range.upperBound - start), start)
          // The file of a map may be shorter than the map.
          if count <= 0 { break }
          require(Glibc.write(target, buffer, count) == count)
          start += count
        }
      }
      Glibc.close(target)
      Glibc.close(memory)
    }

    /// The maps that have something in memory.
    private static func ranges(_ isWhole: Bool) throws -> [Range<Int>] {
      var (ranges, current, size) = ([Range<Int>](), 0..<0, 0)
      for line in try kernelText("/proc/self/smaps").split(separator: "\n") {
        let words = line.split(separator: " ")
        let ends = words[0].split(separator: "-").compactMap { Int($0, radix: 16) }
        if ends.count == 2, words.count >= 5 {
          current = words[1].hasPrefix("r") ? ends[0]..<ends[1] : 0..<0
        } else if words[0] == "Rss:" {
          size = Int(words[1]) ?? 0
        } else if words[0] == "VmFlags:", size > 0, isWhole || !words.contains("dd") {
          ranges.append(current)
        }
      }
      return ranges
    }
  }
#endif
