import CCalls
import CMMLogC
import Glibc
import MMLog
import MMLogReader
import MMLogStorage
import TestSupport
import Testing

@testable import MMLogC

@Suite("Options in C")
struct OptionTests {
  private func configuration(
    _ change: (inout mmlog_options) -> Void
  ) throws -> LogStore.Configuration {
    var options = mmlog_options()
    change(&options)
    return try LogStore.Configuration(options)
  }

  /// The name lives as long as the call.
  private func withField<Result>(
    _ name: String, _ value: Int64, _ body: (UnsafePointer<mmlog_field>) throws -> Result
  ) rethrows -> Result {
    try name.withCString { name in
      try withUnsafePointer(to: mmlog_field_int(name, value), body)
    }
  }

  @Test("options that are all 0 are the defaults")
  func defaults() throws {
    let made = try configuration { _ in }
    let expected = LogStore.Configuration()
    for (member, standard) in zip(
      Mirror(reflecting: made).children, Mirror(reflecting: expected).children)
    {
      #expect(
        String(describing: member.value) == String(describing: standard.value),
        "\(member.label ?? "")")
    }
  }

  @Test("each setting of a store has its option, or is said not to have one")
  func complete() throws {
    // What mmlog.h names as missing.
    let missing: Set = ["autoPrivacy", "shouldSeal"]
    // What has a function of its own, and what no program sets.
    let others: Set = ["rateLimits", "maintenanceInterval", "stallTime", "tapTimeout"]
    let one = 1
    let rings = "/rings"
    let zone = "Europe/Berlin"
    // The default depends on the machine.
    let otherDrainThreads = UInt32(3 - LogStore.Configuration().drainThreads)
    let changed = try rings.withCString { rings in
      try zone.withCString { zone in
        try withField("shard", 7) { field in
          try configuration {
            $0.ring_directory = rings
            ($0.ring_size, $0.segment_size, $0.dictionary_size) = (1 << 20, 1 << 14, 1 << 15)
            ($0.level, $0.archive_level) = (MMLOG_DEBUG, MMLOG_INFO)
            ($0.capture_level, $0.sync_level) = (MMLOG_CRITICAL, MMLOG_ERROR)
            ($0.full_ring, $0.drain_interval_ms, $0.sync_interval_ms) = (MMLOG_FULL_DROP, 50, 60)
            ($0.records_crashes, $0.serves_signal_handlers, $0.hash_chain) = (true, true, true)
            ($0.no_fault_containment, $0.no_termination_records) = (true, true)
            ($0.allows_untrusted_directory, $0.captures_spans) = (true, true)
            ($0.file_mode, $0.file_group, $0.drain_threads) = (0o640, rings, otherDrainThreads)
            ($0.capture_time_ms, $0.resumes_last_archive) = (500, true)
            ($0.no_reduced_compression, $0.compression_level) = (true, 9)
            ($0.compression, $0.pending_threshold, $0.size_threshold) = (
              MMLOG_COMPRESSION_ZSTD, 5, 6
            )
            ($0.rotation_size, $0.rotation_age_s) = (1 << 20, 60)
            ($0.rotation_period, $0.rotation_weekday) = (MMLOG_ROTATE_WEEKLY, 2)
            ($0.rotation_hour, $0.rotation_minute, $0.rotation_zone) = (4, 30, zone)
            ($0.retention_total_size, $0.retention_age_s, $0.retention_count) = (1 << 21, 61, 3)
            ($0.retention_free_space, $0.retention_minimum_size) = (1 << 22, 1 << 23)
            ($0.retention_crashes, $0.retention_unsent_size, $0.retention_unsent_age_s) = (
              2, 1 << 24, 62
            )
            ($0.fields, $0.field_count) = (field, one)
            ($0.console_level, $0.console_format) = (MMLOG_WARNING, MMLOG_CONSOLE_JSON)
            $0.on_maintenance = { _, _ in }
          }
        }
      }
    }
    #expect(
      changed.rotation
        == Rotation(
          size: 1 << 20, age: .seconds(60),
          calendar: .weekly(on: .tuesday, hour: 4, minute: 30, in: "Europe/Berlin")))
    var retention = Retention()
    (retention.totalSize, retention.age, retention.count) = (1 << 21, .seconds(61), 3)
    (retention.freeSpace, retention.minimumSize) = (.bytes(1 << 22), 1 << 23)
    (retention.crashes, retention.unsentSize, retention.unsentAge) = (2, 1 << 24, .seconds(62))
    #expect(changed.retention == retention)
    #expect(changed.captureTime == .milliseconds(500) && changed.compressionLevel == 9)
    // Those of Encryption and events, which are not for every build, or come with the handler.
    let elsewhere: Set = ["recipients", "observer"]
    for (member, standard) in zip(
      Mirror(reflecting: changed).children,
      Mirror(reflecting: LogStore.Configuration()).children)
    {
      let name = try #require(member.label)
      let isSame = String(describing: member.value) == String(describing: standard.value)
      let mayBeSame = missing.union(others).union(elsewhere).contains(name)
      #expect(isSame == mayBeSame, "LogStore.Configuration.\(name) has no option in mmlog.h")
    }
  }

  @Test("a limit that is -1 is none")
  func noLimits() throws {
    let made = try configuration {
      ($0.rotation_size, $0.rotation_age_s) = (.max, .max)
      ($0.retention_total_size, $0.retention_age_s, $0.retention_count) = (.max, .max, .max)
      ($0.retention_free_space, $0.retention_minimum_size, $0.retention_crashes) = (
        .max, .max, .max
      )
      ($0.retention_unsent_size, $0.compression_level) = (.max, -1)
    }
    var retention = Retention.unlimited
    (retention.minimumSize, retention.crashes) = (0, 0)
    #expect(made.rotation == Rotation(size: nil, age: nil) && made.retention == retention)
    #expect(made.compressionLevel == 0)
  }

  @Test("choices that are none of the header's are refused")
  func wrongChoices() {
    let wrong: [(inout mmlog_options) -> Void] = [
      { $0.compression = mmlog_compression(rawValue: 2) },
      { $0.level = mmlog_level(rawValue: 9) },
      { $0.archive_level = mmlog_level(rawValue: 30) },
      { $0.capture_level = mmlog_level(rawValue: .max) },
      { $0.sync_level = mmlog_level(rawValue: 9) },
      { $0.console_level = mmlog_level(rawValue: 77) },
      { $0.rotation_period = mmlog_rotation_period(rawValue: 4) },
      { ($0.rotation_period, $0.rotation_weekday) = (MMLOG_ROTATE_WEEKLY, 7) },
      {
        ($0.console_level, $0.console_format) = (MMLOG_INFO, mmlog_console_format(rawValue: 2))
      },
    ]
    for (index, change) in wrong.enumerated() {
      let error = #expect(throws: LogError.self) { try configuration(change) }
      #expect(error?.code == .invalidConfiguration, "\(index)")
    }
  }

  @Test("a text of recipients with none in it is refused: the log would not be encrypted")
  func noRecipient() {
    let error = ",".withCString { text in
      #expect(throws: LogError.self) { try configuration { $0.recipients = text } }
    }
    #expect(error?.code == .invalidConfiguration)
  }

  @Test("a name that is not UTF-8 is refused: as a text it would name another file or group")
  func otherBytes() throws {
    let folder = TemporaryDirectory()
    let name = [CChar(bitPattern: 0xE9), 0]
    let path = Array(folder("caf").utf8CString.dropLast()) + name
    let members: [(WritableKeyPath<mmlog_options, UnsafePointer<CChar>?>, [CChar])] = [
      (\.directory, path), (\.name, name), (\.ring_directory, path), (\.file_group, name),
    ]
    for (member, bytes) in members {
      let error = bytes.withUnsafeBufferPointer { bytes in
        #expect(throws: CFailure.self) {
          try openStore(folder("log")) { $0[keyPath: member] = bytes.baseAddress }
        }
      }
      #expect(error?.code == MMLOG_FAILURE_ARGUMENT)
      #expect(error?.description.contains("is not UTF-8") == true, "\(member)")
    }
    #expect(try folder.names().isEmpty)
  }

  @Test("limits change while the store is open, all or none of them")
  func limits() throws {
    let test = try CStore { $0.retention_count = 5 }
    let store = Unmanaged<LogStore>.fromOpaque(UnsafeRawPointer(test.store)).takeUnretainedValue()
    #expect(store.settings.retention.count == 5)
    var options = mmlog_options()
    options.size = MemoryLayout<mmlog_options>.size
    (options.rotation_size, options.retention_age_s) = (1 << 20, 3600)
    #expect(mmlog_set_limits(test.store, &options, nil) == 0)
    #expect(store.settings.rotation == Rotation(size: 1 << 20))
    #expect(store.settings.retention.age == .seconds(3600))
    #expect(store.settings.retention.count == nil)
    var failure = mmlog_failure()
    (options.rotation_size, options.retention_age_s) = (1, 7200)
    #expect(mmlog_set_limits(test.store, &options, &failure) == -1)
    #expect(failure.code == MMLOG_FAILURE_ARGUMENT)
    #expect(store.settings.retention.age == .seconds(3600))
    #expect(try test.closeAndRead().messages.isEmpty)
  }

  @Test("of options that are no limits, setting limits reads nothing: what they had may be gone")
  func onlyLimits() throws {
    let test = try CStore()
    let store = Unmanaged<LogStore>.fromOpaque(UnsafeRawPointer(test.store)).takeUnretainedValue()
    // Whoever reads there dies.
    let gone = UnsafePointer<CChar>(bitPattern: 8)
    var options = mmlog_options()
    options.size = MemoryLayout<mmlog_options>.size
    (options.directory, options.name, options.ring_directory) = (gone, gone, gone)
    (options.file_group, options.recipients, options.rotation_zone) = (gone, gone, gone)
    (options.fields, options.field_count) = (UnsafePointer(bitPattern: 8), 1)
    (options.level, options.full_ring) = (mmlog_level(rawValue: 30), mmlog_full_ring(rawValue: 9))
    options.compression = mmlog_compression(rawValue: 9)
    options.retention_count = 5
    #expect(mmlog_set_limits(test.store, &options, nil) == 0)
    #expect(store.settings.retention.count == 5)
    #expect(try test.closeAndRead().messages.isEmpty)
  }

  @Test("a statement is recorded as often as its limit says")
  func rateLimit() throws {
    let test = try CStore()
    mmlog_set_rate_limit(test.store, "c*", 3, 3_600_000, 0)
    ccalls_log_many(test.log, 20)
    mmlog_set_rate_limit(test.store, "*", 0, 0, 0)
    ccalls_log_many(test.log, 20)
    // Of two statements.
    #expect(try test.closeAndRead().messages.count == 6 + 20)
  }

  @Test("what all records of the process share is with each of them")
  func sessionFields() throws {
    func text(_ text: StaticString) -> UnsafePointer<CChar> {
      UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
    }
    let fields = [
      mmlog_field_text(text("service.version"), text("1.4.2")), mmlog_field_uint(text("shard"), 7),
      mmlog_field_double(text("share"), 0.5), mmlog_field_bool(text("last"), true),
      mmlog_field_int(text("n"), -1), mmlog_field_private(text("key")),
      mmlog_field_hash(text("user"), text("someone")), mmlog_field_int(nil, 1),
    ]
    let test = try fields.withUnsafeBufferPointer { fields in
      try CStore { ($0.fields, $0.field_count) = (fields.baseAddress, fields.count) }
    }
    ccalls_log_many(test.log, 1)
    let record = try #require(try test.closeAndRead().records.first)
    let shown = record.session.fields.prefix(fields.count).map { "\($0.name) \($0.value)" }
    #expect(
      shown.prefix(6) == [
        "service.version string(\(Array("1.4.2".utf8)))", "shard uint(7)", "share double(0.5)",
        "last bool(true)", "n int(-1)", "key redacted",
      ])
    #expect(shown[6].hasPrefix("user hash(") && shown[7] == "(null) int(1)")
  }

  @Test("the first session's hash of a text is that of its records")
  func hashBeforeTheFirstStore() async {
    // In a process of its own, which has opened no store before.
    await #expect(processExitsWith: .success) {
      let test = try "user".withCString { name in
        try "secret".withCString { text in
          try withUnsafePointer(to: mmlog_field_hash(name, text)) { field in
            try CStore { ($0.fields, $0.field_count) = (field, 1) }
          }
        }
      }
      ccalls_log_fields(test.log)
      let record = try test.closeAndRead().records[0]
      let hashes = record.fields.filter { $0.name == "hash" }
      require(hashes.count == 1 && record.session.fields[0].value == hashes[0].value)
    }
  }

  @Test("records from a level on are on the console, as text or JSON")
  func console() throws {
    for format in [MMLOG_CONSOLE_TEXT, MMLOG_CONSOLE_JSON] {
      let folder = TemporaryDirectory()
      let file = open(folder("console"), O_WRONLY | O_CREAT, 0o600)
      defer { Glibc.close(file) }
      let test = try CStore {
        ($0.console_level, $0.console_format) = (MMLOG_ERROR, format)
        $0.console_descriptor = file
      }
      ccalls_log_many(test.log, 5)
      ccalls_log_fields(test.log)
      #expect(try test.closeAndRead().messages.count == 6)
      let lines = String(decoding: try folder.bytes("console"), as: UTF8.self)
        .split(separator: "\n")
      #expect(lines.count == 1 && lines[0].contains("message with fields"))
      #expect(lines[0].hasPrefix("{") == (format == MMLOG_CONSOLE_JSON))
    }
  }
}
