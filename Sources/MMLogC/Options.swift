import CMMLogC
import MMLog

extension mmlog_options {
  /// What the caller knows of the options; what it does not has its default.
  init(known options: UnsafePointer<mmlog_options>) throws(LogError) {
    self.init()
    let size = options.pointee.size
    guard size >= MemoryLayout<Int>.size * 3 else {
      throw invalid("size is \(size): it must be sizeof(mmlog_options)")
    }
    withUnsafeMutableBytes(of: &self) {
      $0.copyMemory(
        from: UnsafeRawBufferPointer(start: options, count: min(size, $0.count)))
    }
    if directory == nil || name == nil { throw invalid("directory or name is NULL") }
  }
}

extension LogStore.Configuration {
  /// The settings that options in C come to. Their ranges are checked when the store is opened.
  init(_ options: mmlog_options) throws(LogError) {
    self.init()
    if options.ring_directory != nil { ringDirectory = String(c: options.ring_directory) }
    if options.ring_size > 0 { ringSize = try Int(checking: options.ring_size, "ring_size") }
    if options.segment_size > 0 {
      segmentSize = try Int(checking: options.segment_size, "segment_size")
    }
    if options.dictionary_size > 0 {
      dictionarySize = try Int(checking: options.dictionary_size, "dictionary_size")
    }
    setLevels(options)
    try setTimes(options)
    try setLimits(options)
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
    if options.file_group != nil { fileGroup = String(c: options.file_group) }
    for text in String(c: options.recipients).split(separator: ",") {
      do throws(RecipientError) { recipients.append(try Recipient(String(text))) } catch {
        throw invalid("recipients: \(error)")
      }
    }
  }

  private mutating func setLevels(_ options: mmlog_options) {
    if let level = Level(option: options.level) { self.level = level }
    if let level = Level(option: options.archive_level) { archiveLevel = level }
    if let level = Level(option: options.capture_level) { captureLevel = level }
    if let level = Level(option: options.sync_level) { syncLevel = level }
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
  }

  private mutating func setLimits(_ options: mmlog_options) throws(LogError) {
    if options.rotation_size > 0 {
      rotation.size = try Int(checking: options.rotation_size, "rotation_size")
    }
    if options.rotation_age_s > 0 { rotation.age = .seconds(options.rotation_age_s) }
    if options.retention_total_size > 0 {
      retention.totalSize = try Int(checking: options.retention_total_size, "retention_total_size")
    }
    if options.retention_age_s > 0 { retention.age = .seconds(options.retention_age_s) }
    if options.retention_count > 0 { retention.count = Int(options.retention_count) }
  }
}

extension Level {
  /// A level as C numbers them; nil if it is left to the default, or none of them.
  init?(option level: mmlog_level) {
    guard let level = UInt8(exactly: level.rawValue), level > 0 else { return nil }
    self.init(rawValue: level - 1)
  }
}

extension String {
  /// A text of the options, or an empty one.
  init(c text: UnsafePointer<CChar>?) { self = text.map { String(cString: $0) } ?? "" }
}

extension Int {
  fileprivate init(checking number: some BinaryInteger, _ name: String) throws(LogError) {
    guard let number = Int(exactly: number) else { throw invalid("\(name) is \(number)") }
    self = number
  }
}

private func invalid(_ what: String) -> LogError {
  LogError(.invalidConfiguration, "An option is not valid: \(what).")
}
