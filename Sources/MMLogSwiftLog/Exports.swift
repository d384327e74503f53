#if SwiftLog
  // What a file names that opens a store and bootstraps swift-log: so it imports Logging and this
  // module. Not MMLog's `Logger`, which Logging has, too.
  public import MMLog
  @_exported public import enum MMLogFormat.Level
  @_exported public import class MMLog.LogStore
  @_exported public import struct MMLogStorage.LogError

  extension MMLogHandler {
    /// What is written of a value.
    public typealias Privacy = MMLog.Logger.Privacy
  }
#endif
