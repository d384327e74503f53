extension LossLedger {
  /// Why a record could not be kept, or not whole. Raw values stand on disk.
  @nonexhaustive
  public enum Cause: UInt8, CaseIterable, Sendable, CustomStringConvertible {
    /// No segment of the ring became free for as long as the policy allows a thread to wait.
    case ringFull
    /// The policy `overwriteOldest` gave its place to a newer record.
    case overwritten
    /// A value was longer than 16 MiB, or there was no memory to build it in; the record was kept,
    /// cut.
    case cut
    /// It was logged from too deep inside other log calls of the same thread.
    case tooDeep
    /// There was no ring to write into, or no way to it: the store was closed, the ring could not
    /// be made, or there was no memory for what a thread needs to use it.
    case noRing
    /// Its bytes in memory were corrupted before they could be archived. In a dead process's ring,
    /// each place that the recovery could not read counts as one record.
    case corrupted
    /// It was too large even when its values were cut, its message had more than 1024 parts, or
    /// there was no memory to build it in.
    case tooLarge

    /// The cause, as the decoder prints it.
    public var description: String {
      switch self {
      case .ringFull: "ring full"
      case .overwritten: "overwritten"
      case .cut: "cut"
      case .tooDeep: "nested too deep"
      case .noRing: "no ring"
      case .corrupted: "corrupted in memory"
      case .tooLarge: "too large"
      }
    }
  }
}

/// How many records of each level were lost, by cause.
public struct LossLedger: Equatable, Sendable {
  package static let causes = 8
  package static let levels = 8

  /// Counts, cause by cause; see FORMAT.md, 3.
  package var counts = [UInt64](repeating: 0, count: causes * levels)

  /// A ledger without losses.
  package init() {}

  /// Reads the 512 bytes of a ledger; fewer give nil.
  package init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= RingLayout.ledgerSize else { return nil }
    for index in counts.indices { counts[index] = bytes.load(index * 8, as: UInt64.self) }
  }

  /// The bytes as they stand on disk.
  package var encoded: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: RingLayout.ledgerSize)
    bytes.withUnsafeMutableBytes { out in
      for (index, count) in counts.enumerated() { out.store(count, index * 8) }
    }
    return bytes
  }

  /// The offset of one count from the ledger's start.
  package static func offset(_ cause: LossLedger.Cause, _ level: Level) -> Int {
    (Int(cause.rawValue) * levels + Int(level.rawValue)) * 8
  }

  /// The number of records lost for a cause at a level.
  public subscript(cause: LossLedger.Cause, level: Level) -> UInt64 {
    get { counts[Self.offset(cause, level) / 8] }
    set { counts[Self.offset(cause, level) / 8] = newValue }
  }

  /// The number of records lost for a cause, over all levels.
  public func total(_ cause: LossLedger.Cause) -> UInt64 {
    Level.allCases.reduce(0) { $0 &+ count(cause, $1) }
  }

  /// The number of records lost for a cause that are shown with a level: those of the reserved
  /// level as critical.
  package func count(_ cause: LossLedger.Cause, _ level: Level) -> UInt64 {
    let reserved = Self.offset(cause, .critical) / 8 + 1
    return self[cause, level] &+ (level == .critical ? counts[reserved] : 0)
  }

  /// The number of records for all causes and levels.
  package var total: UInt64 { LossLedger.Cause.allCases.reduce(0) { $0 &+ total($1) } }

  /// Adds another ledger's counts.
  package static func += (ledger: inout LossLedger, other: LossLedger) {
    for index in ledger.counts.indices { ledger.counts[index] &+= other.counts[index] }
  }

  /// True if nothing was lost.
  public var isEmpty: Bool { counts.allSatisfy { $0 == 0 } }
}
