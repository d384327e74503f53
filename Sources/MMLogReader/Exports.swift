// The types of the lower layers that a reader hands out, so that a client needs one import.
@_exported public import struct MMLogFormat.CrashReport
@_exported public import enum MMLogFormat.Level
@_exported public import struct MMLogFormat.LossLedger
@_exported public import struct MMLogFormat.SessionEnd
@_exported public import struct MMLogFormat.SessionID
@_exported public import struct MMLogFormat.SessionIdentity
@_exported public import struct MMLogFormat.Timestamp
@_exported public import struct MMLogFormat.TraceContext
@_exported public import struct MMLogFormat.TextBuffer
@_exported public import enum MMLogFormat.Value
@_exported public import struct MMLogStorage.Corruption
@_exported public import struct MMLogStorage.LogError
@_exported public import struct MMLogStorage.LogIdentities

extension LogReader {
  /// How much a record matters.
  public typealias Level = MMLogFormat.Level

  /// A value of a record's field.
  public typealias Value = MMLogFormat.Value
}
