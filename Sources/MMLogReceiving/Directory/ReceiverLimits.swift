package import MMLogStorage

/// The limits of what is received. All sizes are in bytes.
package struct ReceiverLimits: Sendable {
  /// How large an archive may be. Default 1 GiB.
  package var archive = 1 << 30
  /// How many bytes of one client are kept, including unfinished uploads; nil: no limit.
  package var client: Int?
  /// How many bytes of all clients together are kept; nil: no limit.
  package var total: Int?
  /// How much is left free on the file system. Default 5 % of it.
  package var freeSpace: Retention.FreeSpace = .fraction(0.05)
  /// How many uploads of one client may be unfinished. Default 64.
  package var unfinished = 64
  /// How long an unfinished upload waits for the rest, counted from its last byte. Default 1 day.
  package var unfinishedAge = Duration.seconds(86_400)

  package init() {}
}
