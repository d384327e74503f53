import CMMLogC
import MMLog
import MMLogTaps

extension mmlog_options {
  /// The options that the caller knows. Options that the caller does not know have their defaults.
  init(known options: UnsafePointer<mmlog_options>?) throws(LogError) {
    self.init()
    guard let options else { throw invalid("options is NULL") }
    let size = options.pointee.size
    guard size >= MemoryLayout<Int>.size * 3 else {
      throw invalid("size is \(size): it must be sizeof(mmlog_options)")
    }
    withUnsafeMutableBytes(of: &self) {
      $0.copyMemory(
        from: UnsafeRawBufferPointer(start: options, count: min(size, $0.count)))
    }
  }

  /// A name that the options must have.
  func name(
    _ member: KeyPath<Self, UnsafePointer<CChar>?>, _ option: String
  ) throws(LogError) -> String {
    guard let name = self[keyPath: member] else { throw invalid("\(option) is NULL") }
    return try String(name: name, option)
  }
}

extension LogStore.Configuration {
  /// The settings that options in C stand for. Opening the store checks their ranges.
  init(_ options: mmlog_options) throws(LogError) {
    self.init()
    if let directory = options.ring_directory {
      if directory.pointee == 0 {
        throw invalid("ring_directory is empty: give a path, or NULL for the archives' directory")
      }
      ringDirectory = try String(name: directory, "ring_directory")
    }
    // In Swift, a size_t has a sign: the greatest one is negative, and so out of range.
    if options.ring_size != 0 { ringSize = options.ring_size }
    if options.segment_size != 0 { segmentSize = options.segment_size }
    if options.dictionary_size != 0 { dictionarySize = options.dictionary_size }
    try setLevels(options)
    try setTimes(options)
    try setCompression(options)
    setLimits(options)
    try setCalendar(options)
    try setConsole(options)
    setMaintenanceHook(options)
    let count = options.fields == nil ? 0 : options.field_count
    if count < 0 { throw invalid("field_count is more than there can be") }
    for field in UnsafeBufferPointer(start: options.fields, count: count) {
      fields.append(field.pair.value, for: field.pair.name)
    }
    resumeLastArchive = options.resumes_last_archive
    recordsCrashes = options.records_crashes
    recordsTermination = !options.no_termination_records
    servesSignalHandlers = options.serves_signal_handlers
    containsFaults = !options.no_fault_containment
    allowsUntrustedDirectory = options.allows_untrusted_directory
    hashChain = options.hash_chain
    if options.captures_spans {
      let limit = options.captures_spans_slower_than_ms
      spanCapture = SpanCapture(slowerThan: limit > 0 ? .milliseconds(limit) : nil)
    }
    if options.file_mode > 0 { fileMode = options.file_mode }
    if let group = options.file_group { fileGroup = try String(name: group, "file_group") }
    let recipients = String(c: options.recipients)
    let texts = recipients.split(separator: ",")
    if texts.isEmpty, !recipients.isEmpty { throw invalid("recipients has none in it") }
    for text in texts {
      do throws(RecipientError) { self.recipients.append(try Recipient(String(text))) } catch {
        throw invalid("recipients: \(error)")
      }
    }
  }

  /// Only the settings that ``mmlog_set_limits`` changes. Pointers in the other options need not be
  /// valid.
  init(limitsOf options: mmlog_options) throws(LogError) {
    self.init()
    setLimits(options)
    try setCalendar(options)
  }

  private mutating func setLevels(_ options: mmlog_options) throws(LogError) {
    level = try Level(option: options.level, "level") ?? level
    archiveLevel = try Level(option: options.archive_level, "archive_level") ?? archiveLevel
    captureLevel = try Level(option: options.capture_level, "capture_level") ?? captureLevel
    syncLevel = try Level(option: options.sync_level, "sync_level") ?? syncLevel
  }

  private mutating func setTimes(_ options: mmlog_options) throws(LogError) {
    switch options.full_ring {
    case MMLOG_FULL_WAIT:
      if options.full_ring_wait_ms > 0 {
        fullRing = .wait(upTo: .milliseconds(options.full_ring_wait_ms))
      }
    case MMLOG_FULL_DROP: fullRing = .dropNewest
    case MMLOG_FULL_OVERWRITE: fullRing = .overwriteOldest
    default: throw invalid("full_ring is \(options.full_ring.rawValue)")
    }
    if options.drain_interval_ms > 0 { drainInterval = .milliseconds(options.drain_interval_ms) }
    if options.drain_threads > 0 { drainThreads = Int(options.drain_threads) }
    if options.sync_interval_ms > 0 { syncInterval = .milliseconds(options.sync_interval_ms) }
    if options.capture_time_ms > 0 { captureTime = .milliseconds(options.capture_time_ms) }
  }

  private mutating func setCompression(_ options: mmlog_options) throws(LogError) {
    switch options.compression {
    case MMLOG_COMPRESSION_ZLIB: compression = .zlib
    case MMLOG_COMPRESSION_ZSTD: compression = .zstd
    default: throw invalid("compression is \(options.compression.rawValue)")
    }
    let level = Int(options.compression_level)
    if level != 0 { compressionLevel = level == -1 ? 0 : level }
    reducesCompression = !options.no_reduced_compression
  }

  private mutating func setLimits(_ options: mmlog_options) {
    rotation.size = limit(options.rotation_size, rotation.size) { Int(clamping: $0) }
    rotation.age = limit(options.rotation_age_s, rotation.age) { .seconds($0) }
    retention.totalSize = limit(options.retention_total_size, retention.totalSize) {
      Int(clamping: $0)
    }
    retention.age = limit(options.retention_age_s, retention.age) { .seconds($0) }
    retention.count = limit(options.retention_count, retention.count) { Int($0) }
    retention.freeSpace = limit(options.retention_free_space, retention.freeSpace) {
      .bytes(Int(clamping: $0))
    }
    retention.minimumSize =
      limit(options.retention_minimum_size, retention.minimumSize) { Int(clamping: $0) } ?? 0
    retention.crashes = limit(options.retention_crashes, retention.crashes) { Int($0) } ?? 0
    retention.unsentSize = limit(options.retention_unsent_size, nil) { Int(clamping: $0) }
    retention.unsentAge = limit(options.retention_unsent_age_s, nil) { .seconds($0) }
    pendingThreshold = limit(options.pending_threshold, nil) { Int(clamping: $0) }
    sizeThreshold = limit(options.size_threshold, nil) { Int(clamping: $0) }
  }

  private mutating func setCalendar(_ options: mmlog_options) throws(LogError) {
    if options.rotation_period == MMLOG_ROTATE_BY_LIMITS { return }
    let zone = options.rotation_zone == nil ? "UTC" : String(c: options.rotation_zone)
    let (hour, minute) = (Int(options.rotation_hour), Int(options.rotation_minute))
    switch options.rotation_period {
    case MMLOG_ROTATE_HOURLY: rotation.calendar = .hourly(minute: minute, in: zone)
    case MMLOG_ROTATE_DAILY: rotation.calendar = .daily(hour: hour, minute: minute, in: zone)
    case MMLOG_ROTATE_WEEKLY:
      let day = Int(options.rotation_weekday)
      guard let weekday = Rotation.Calendar.Weekday(rawValue: day) else {
        throw invalid("rotation_weekday is \(day): it must be from 0, Sunday, to 6")
      }
      rotation.calendar = .weekly(on: weekday, hour: hour, minute: minute, in: zone)
    default: throw invalid("rotation_period is \(options.rotation_period.rawValue)")
    }
  }

  private mutating func setConsole(_ options: mmlog_options) throws(LogError) {
    guard let level = try Level(option: options.console_level, "console_level") else { return }
    let format: LineFormat
    switch options.console_format {
    case MMLOG_CONSOLE_TEXT: format = .text()
    case MMLOG_CONSOLE_JSON: format = .json
    default: throw invalid("console_format is \(options.console_format.rawValue)")
    }
    let descriptor = options.console_descriptor == 0 ? 2 : options.console_descriptor
    taps = [LogTap(Console(as: format, to: descriptor), from: level)]
  }

  private mutating func setMaintenanceHook(_ options: mmlog_options) {
    guard let function = options.on_maintenance else { return }
    // The program says that its function may be called on any thread.
    nonisolated(unsafe) let context = options.context
    maintenanceHook = { function($0 == .willBegin, context) }
  }
}

/// A limit of the options: 0 stands for the default, and the greatest number for no limit.
private func limit<Number: FixedWidthInteger, Limit>(
  _ number: Number, _ standard: Limit?, _ make: (Number) -> Limit
) -> Limit? {
  number == 0 ? standard : number == .max ? nil : make(number)
}

extension Level {
  /// The level of an option; nil if it is left to the default.
  fileprivate init?(option level: mmlog_level, _ name: String) throws(LogError) {
    if level == MMLOG_LEVEL_DEFAULT { return nil }
    guard let level = Level(option: level) else {
      throw invalid(
        "\(name) is \(level.rawValue): it must be from \(MMLOG_TRACE.rawValue), MMLOG_TRACE, to "
          + "\(MMLOG_OFF.rawValue), MMLOG_OFF")
    }
    self = level
  }

  /// A level by its number in C; nil if the option is left to the default, or is no level.
  init?(option level: mmlog_level) {
    guard let level = UInt8(exactly: level.rawValue), level > 0 else { return nil }
    self.init(rawValue: level - 1)
  }
}

extension String {
  /// A text of the options; empty if it is NULL.
  init(c text: UnsafePointer<CChar>?) { self = text.map { String(cString: $0) } ?? "" }

  /// A name of the options, which has to be UTF-8: with other bytes in place of wrong ones, it
  /// would name something else.
  fileprivate init(name: UnsafePointer<CChar>, _ option: String) throws(LogError) {
    guard let name = String(validatingCString: name) else {
      throw invalid("\(option) is not UTF-8")
    }
    self = name
  }
}

/// The names in C of settings in Swift, and of words about them.
private let namesInC = [
  "ringSize": "ring_size", "segmentSize": "segment_size", "dictionarySize": "dictionary_size",
  "archiveLevel": "archive_level", "captureLevel": "capture_level",
  "drainInterval": "drain_interval_ms", "drainThreads": "drain_threads",
  "syncInterval": "sync_interval_ms", "captureTime": "capture_time_ms",
  "compressionLevel": "compression_level", "hashChain": "hash_chain", "fileMode": "file_mode",
  "fileGroup": "file_group", "rotation.size": "rotation_size", "nil": "-1",
  "pendingThreshold": "pending_threshold", "sizeThreshold": "size_threshold",
  "retention.minimumSize": "retention_minimum_size", "retention.crashes": "retention_crashes",
  "retention.count": "retention_count", "retention.totalSize": "retention_total_size",
  "retention.unsentSize": "retention_unsent_size", "retention.age": "retention_age_s",
  "retention.unsentAge": "retention_unsent_age_s",
  "allowsUntrustedDirectory": "allows_untrusted_directory",
]

extension LogError {
  /// The message as a program in C understands it.
  var messageInC: String {
    switch code {
    case .invalidConfiguration, .untrustedDirectory: withNamesInC(message)
    default: message
    }
  }
}

extension Retention.Rule {
  /// The option for the limit in C; nil if there is none.
  fileprivate var nameInC: String? {
    switch self {
    case .age: "retention_age_s"
    case .count: "retention_count"
    case .totalSize: "retention_total_size"
    case .freeSpace: "retention_free_space"
    case .request: nil
    }
  }
}

/// A text in which settings have the names that C has.
///
/// - Parameter rule: The limit that the text names, if it names one.
func withNamesInC(_ text: String, _ rule: Retention.Rule? = nil) -> String {
  var words: [String] = []
  for word in text.split(separator: " ", omittingEmptySubsequences: false) {
    if word == "traits:" {
      // Swift's way to turn on a trait begins with "add traits:".
      _ = words.popLast()
      words.append("this library was built without it.")
      break
    }
    let start = word.firstIndex { $0 != "(" } ?? word.endIndex
    let end = word.lastIndex { !",.:;)".contains($0) }.map { word.index(after: $0) }
    let stop = max(start, end ?? start)
    let name = String(word[start..<stop])
    // Octal numbers begin with a zero alone.
    let octal = name.hasPrefix("0o") ? "0\(name.dropFirst(2))" : nil
    let ofRule = name == rule?.rawValue ? rule?.nameInC : nil
    words.append("\(word[..<start])\(ofRule ?? namesInC[name] ?? octal ?? name)\(word[stop...])")
  }
  return words.joined(separator: " ")
}

private func invalid(_ what: String) -> LogError {
  LogError(.invalidConfiguration, "An option is not valid: \(what).")
}
