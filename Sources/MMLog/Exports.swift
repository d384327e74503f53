// The public types that this module's API is made of, so that one import is enough.
@_exported public import enum MMLogFormat.Level
@_exported public import enum MMLogFormat.LossCause
@_exported public import struct MMLogFormat.LossLedger
@_exported public import struct MMLogFormat.SessionEnd
@_exported public import struct MMLogFormat.SessionID
@_exported public import struct MMLogFormat.SessionIdentity
@_exported public import struct MMLogStorage.LogError
@_exported public import struct MMLogStorage.RecoveredSession
@_exported public import struct MMLogStorage.ArchiveInfo
@_exported public import struct MMLogStorage.ArchiveState
@_exported public import struct MMLogStorage.CalendarRotation
@_exported public import struct MMLogStorage.Retention
@_exported public import enum MMLogStorage.RetentionRule
@_exported public import struct MMLogStorage.Rotation
@_exported public import enum MMLogStorage.RotationReason
@_exported public import struct MMLogStorage.UploadLease
