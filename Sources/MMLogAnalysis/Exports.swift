// What the lower layers have of this module's subject, so that a client needs one import.
@_exported public import struct MMLogStorage.ArchiveHead
@_exported public import enum MMLogStorage.LogRecovery
@_exported public import struct MMLogStorage.RecoveredSession
