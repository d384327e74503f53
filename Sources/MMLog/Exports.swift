// The public types of other modules that this module's API uses, so that one import is enough.
// Types with general names have nested names below: use those.
@_exported public import struct MMLogCrypto.Recipient
@_exported public import struct MMLogCrypto.RecipientError
@_exported public import enum MMLogFormat.Level
@_exported public import struct MMLogFormat.LossLedger
@_exported public import struct MMLogFormat.RateLimit
@_exported public import struct MMLogFormat.SessionEnd
@_exported public import struct MMLogFormat.SessionID
@_exported public import struct MMLogFormat.SessionIdentity
@_exported public import struct MMLogFormat.SpanCapture
@_exported public import struct MMLogFormat.Timestamp
@_exported public import struct MMLogFormat.TraceContext
@_exported public import struct MMLogStorage.ArchiveInfo
@_exported public import struct MMLogStorage.LogError
@_exported public import struct MMLogStorage.RecoveredSession
@_exported public import struct MMLogStorage.Retention
@_exported public import struct MMLogStorage.Rotation
@_exported public import struct MMLogStorage.StoreSettings
@_exported public import struct MMLogStorage.UploadLease

extension Logger {
  /// How much a record matters.
  public typealias Level = MMLogFormat.Level
}

extension LogStore {
  /// What is kept of a store's archives.
  public typealias Retention = MMLogStorage.Retention

  /// When an archive is sealed and the next begun.
  public typealias Rotation = MMLogStorage.Rotation
}
