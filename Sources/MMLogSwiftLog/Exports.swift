#if SwiftLog
  // The names for a file that opens a store and bootstraps swift-log, and so imports only Logging
  // and this module. MMLog's `Logger` is not among them, since Logging has one, too.
  public import MMLog
  @_exported public import enum MMLogFormat.Level
  @_exported public import class MMLog.LogStore
  @_exported public import struct MMLogStorage.LogError

  extension MMLogHandler {
    /// What is written of a value.
    public typealias Privacy = MMLog.Logger.Privacy
  }
#endif
