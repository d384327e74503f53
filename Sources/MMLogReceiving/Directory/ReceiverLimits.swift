package import MMLogStorage

/// How much is received. All sizes are in bytes.
package struct ReceiverLimits: Sendable {
  /// How large an archive may be. Default 1 GiB.
  package var archive = 1 << 30
  /// How much of one client is kept, what is not finished included; nil: any.
  package var client: Int?
  /// How much of all clients together is kept; nil: any.
  package var total: Int?
  /// What is left free on the file system. Default 5 % of it.
  package var freeSpace: Retention.FreeSpace = .fraction(0.05)
  /// How many uploads of one client may be unfinished. Default 64.
  package var unfinished = 64
  /// How long an unfinished upload waits for the rest, counted from its last byte. Default 1 day.
  package var unfinishedAge = Duration.seconds(86_400)

  package init() {}
}
