package import CMMLogC
package import CMMLogWriter
import MMLog
import MMLogFormat

// The functions of mmlog.h that are not called for each record. The header says what they do, and
// where they may be called. They are not internal: the compiler hides internal functions, and then
// a shared library does not export them.

@_cdecl("mmlog_open")
package func open(
  _ options: UnsafePointer<mmlog_options>?, _ failure: UnsafeMutablePointer<mmlog_failure>?
) -> OpaquePointer? {
  var store: LogStore?
  var handler: EventHandler?
  _ = attempt(failure) { () throws(LogError) in
    let options = try mmlog_options(known: options)
    var configuration = try LogStore.Configuration(options)
    handler = EventHandler(options)
    configuration.observer = handler
    store = try LogStore(
      directory: try options.name(\.directory, "directory"),
      name: try options.name(\.name, "name"), configuration: configuration)
  }
  if store == nil { handler?.stop() }
  return store.map { OpaquePointer(Unmanaged.passRetained($0).toOpaque()) }
}

@_cdecl("mmlog_close")
package func close(
  _ store: OpaquePointer?, _ failure: UnsafeMutablePointer<mmlog_failure>?
) -> CInt {
  guard let store else { return 0 }
  let owned = Unmanaged<LogStore>.fromOpaque(UnsafeRawPointer(store)).takeRetainedValue()
  let result = attempt(failure) { () throws(LogError) in try owned.close() }
  owned.waitForObserver()
  // If the program's function itself has closed the store, more events are waiting for it.
  (owned.observer as? EventHandler)?.end()
  return result
}

@_cdecl("mmlog_set_limits")
package func setLimits(
  _ store: OpaquePointer, _ options: UnsafePointer<mmlog_options>?,
  _ failure: UnsafeMutablePointer<mmlog_failure>?
) -> CInt {
  attempt(failure) { () throws(LogError) in
    let limits = try LogStore.Configuration(limitsOf: try mmlog_options(known: options))
    try logStore(store).update { ($0.rotation, $0.retention) = (limits.rotation, limits.retention) }
  }
}

@_cdecl("mmlog_flush")
package func flush(
  _ store: OpaquePointer, _ durability: UInt32, _ milliseconds: UInt32,
  _ failure: UnsafeMutablePointer<mmlog_failure>?
) -> CInt {
  let durability: LogStore.Durability = durability == MMLOG_FLUSH_DISK.rawValue ? .disk : .archive
  return attempt(failure) { () throws(LogError) in
    try logStore(store).flush(durability, within: timeout(milliseconds))
  }
}

@_cdecl("mmlog_capture")
package func capture(
  _ store: OpaquePointer, _ reason: UnsafePointer<CChar>?, _ milliseconds: UInt32,
  _ failure: UnsafeMutablePointer<mmlog_failure>?
) -> CInt {
  attempt(failure) { () throws(LogError) in
    try logStore(store).capture(reason: String(c: reason), within: timeout(milliseconds))
  }
}

@_cdecl("mmlog_lost_records")
package func lostRecords(_ store: OpaquePointer) -> UInt64 {
  logStore(store).losses.lostCount
}

@_cdecl("mmlog_reopen_all")
package func reopenAll() { LogStore.reopenAll() }

@_cdecl("mmlog_get_logger")
package func logger(
  _ store: OpaquePointer, _ label: UnsafePointer<CChar>?
) -> UnsafeMutablePointer<mmlog_label> {
  logStore(store).logger(label: String(c: label)).shared
}

@_cdecl("mmlog_set_level")
package func setLevel(_ label: UnsafeMutablePointer<mmlog_label>, _ level: UInt32) {
  if let level = Level(option: mmlog_level(rawValue: level)) { Logger(label).level = level }
}

@_cdecl("mmlog_set_levels")
package func setLevels(_ store: OpaquePointer, _ pattern: UnsafePointer<CChar>?, _ level: UInt32) {
  guard let level = Level(option: mmlog_level(rawValue: level)) else { return }
  logStore(store).setLevel(level, for: String(c: pattern))
}

@_cdecl("mmlog_set_rate_limit")
package func setRateLimit(
  _ store: OpaquePointer, _ pattern: UnsafePointer<CChar>?, _ first: UInt32,
  _ milliseconds: UInt32, _ every: UInt32
) {
  let limit = RateLimit(first: first, per: .milliseconds(milliseconds), thenEvery: every)
  logStore(store).setRateLimit(milliseconds == 0 ? .none : limit, for: String(c: pattern))
}

@_cdecl("mmlog_get_slot")
package func slot(
  _ store: OpaquePointer, _ name: UnsafePointer<CChar>?, _ type: UInt32
) -> UnsafeMutablePointer<mmlog_state> {
  let (store, name) = (logStore(store), String(c: name))
  let type = mmlog_slot_type(rawValue: type)
  let state =
    switch type {
    case MMLOG_SLOT_UINT: store.slot(name, of: UInt64.self).state
    case MMLOG_SLOT_DOUBLE: store.slot(name, of: Double.self).state
    case MMLOG_SLOT_BOOL: store.slot(name, of: Bool.self).state
    case MMLOG_SLOT_TEXT: store.slot(name, of: String.self).state
    default: store.slot(name, of: Int64.self).state
    }
  // A program that was compiled with the header of 1.0 or 1.1 stores numbers without storing that
  // the slot has one.
  if type != MMLOG_SLOT_TEXT { mmlog_show_state(state, mmlog_state_place(state)) }
  return state
}

@_cdecl("mmlog_slot_set_text")
package func setText(_ slot: UnsafeMutablePointer<mmlog_state>, _ text: UnsafePointer<CChar>?) {
  let size = text.map { mmlog_text_length($0) } ?? 0
  let bytes = UnsafeRawBufferPointer(start: text, count: size)
  StateSlotPlace.store(bytes.assumingMemoryBound(to: UInt8.self), in: slot)
}

private func timeout(_ milliseconds: UInt32) -> Duration {
  .milliseconds(milliseconds == 0 ? 30_000 : Int64(milliseconds))
}

private func logStore(_ store: OpaquePointer) -> LogStore {
  Unmanaged<LogStore>.fromOpaque(UnsafeRawPointer(store)).takeUnretainedValue()
}

/// Calls `body`. Returns 0; or -1, and fills in what went wrong.
private func attempt(
  _ failure: UnsafeMutablePointer<mmlog_failure>?, _ body: () throws(LogError) -> Void
) -> CInt {
  do {
    try body()
    return 0
  } catch {
    failure?.pointee.set(error)
    return -1
  }
}

extension mmlog_failure {
  fileprivate mutating func set(_ error: LogError) {
    code =
      switch error.code {
      case .invalidConfiguration: MMLOG_FAILURE_ARGUMENT
      case .system: MMLOG_FAILURE_SYSTEM
      case .outOfSpace: MMLOG_FAILURE_SPACE
      case .timedOut: MMLOG_FAILURE_TIMEOUT
      case .closed: MMLOG_FAILURE_CLOSED
      case .untrustedDirectory, .foreignOwner: MMLOG_FAILURE_DIRECTORY
      case .unsupported: MMLOG_FAILURE_UNSUPPORTED
      default: MMLOG_FAILURE_OTHER
      }
    system_error = error.systemErrorNumber
    withUnsafeMutableBytes(of: &message) { bytes in
      let text = error.messageInC.utf8.prefix(bytes.count - 1)
      bytes.copyBytes(from: text)
      bytes[text.count] = 0
    }
  }
}
