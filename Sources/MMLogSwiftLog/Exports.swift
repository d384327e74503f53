#if SwiftLog
  // What a file names that opens a store and bootstraps swift-log: so it imports Logging and this
  // module. Not MMLog's `Logger` and `LogEvent`, which Logging has, too.
  @_exported public import enum MMLogFormat.Level
  @_exported public import class MMLog.LogStore
  @_exported public import struct MMLog.Privacy
  @_exported public import struct MMLogStorage.CalendarRotation
  @_exported public import struct MMLogStorage.LogError
  @_exported public import struct MMLogStorage.Retention
  @_exported public import struct MMLogStorage.Rotation
#endif
