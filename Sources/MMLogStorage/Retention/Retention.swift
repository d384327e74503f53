/// Limits to the archives that a store keeps. All of them hold at once, at any time.
///
/// While a limit is exceeded, archives are deleted one by one: first those that are uploaded, then
/// the oldest. Archives that are being written, that are pinned, or that lie around a crash are
/// never deleted. They count, though, so that they may exceed a limit.
public struct Retention: Equatable, Sendable {
  /// The maximum number of archives, the one being written included. An archive without records,
  /// which only says how a session ended, does not count. Nil, the default: any number, because it
  /// is their size that fills a disk.
  public var count: Int?

  /// The maximum space that archives take on the disk together, in bytes (allocated blocks). Nil:
  /// any size. Default: 1 GiB, which is some days of a busy service, and little for a present disk.
  public var totalSize: Int? = 1 << 30

  /// How old an archive may become, counted from its last record. Nil, the default: any age,
  /// because old records cost only space, which is limited already.
  public var age: Duration?

  /// The space that is left free on the file system; nil: none. Default: 5 % of the file system, so
  /// that logs never fill up a disk.
  ///
  /// This limit deletes none of the newest archives, as far as ``minimumSize`` goes: when others
  /// fill the disk, people want to read what happened.
  public var freeSpace: FreeSpace? = .fraction(0.05)

  /// How many bytes of the newest archives ``freeSpace`` leaves alone. Default 64 MiB, one archive.
  public var minimumSize = 64 << 20

  /// For how many crashes, the last one first, the archive before the crash and the one after it
  /// are kept. Default: 1. Each crash takes up to twice an archive's size. A session that exited,
  /// or was ended by SIGTERM, SIGINT or SIGHUP, has not crashed: ``SessionEnd/How/isCrash``.
  public var crashes = 1

  /// How many bytes of the archives that a shipper has not shipped yet the limits spare, the newest
  /// first; see `Shipper` in MMLogShipping. They count, though, so that ``totalSize`` may be
  /// exceeded by as much. Nil, the default: none. ``freeSpace`` deletes them nevertheless, after
  /// all others.
  public var unsentSize: Int?

  /// The maximum age of an archive that ``unsentSize`` spares, counted as for ``age``. Nil, the
  /// default: any age.
  public var unsentAge: Duration?

  /// Space on a file system.
  public enum FreeSpace: Equatable, Sendable {
    /// So many bytes.
    case bytes(Int)
    /// A part of the whole file system, from 0 to 1.
    case fraction(Double)

    /// The space in bytes, on a file system of `total` bytes.
    package func bytes(ofTotal total: Int) -> Int {
      switch self {
      case .bytes(let bytes): bytes
      // As a Double, the largest total is larger than any integer.
      case .fraction(let part): Int(exactly: (Double(total) * part).rounded(.down)) ?? .max
      }
    }
  }

  /// Makes the limits that are used unless others are given.
  public init() {}

  /// No limits at all.
  public static var unlimited: Retention {
    var retention = Retention()
    retention.totalSize = nil
    retention.freeSpace = nil
    return retention
  }

  /// Why these limits cannot be used, or nil if they can.
  package var problem: String? {
    for (name, number) in [("minimumSize", minimumSize), ("crashes", crashes)] where number < 0 {
      return "retention.\(name) is \(number): it must not be negative"
    }
    let limits: [(String, Int?)] = [
      ("count", count), ("totalSize", totalSize), ("unsentSize", unsentSize),
    ]
    for case (let name, let limit?) in limits where limit <= 0 {
      return "retention.\(name) is \(limit): it must be greater than 0, or nil for none"
    }
    for case (let name, let limit?) in [("age", age), ("unsentAge", unsentAge)]
    where limit <= .zero {
      return "retention.\(name) is \(limit): it must be greater than 0, or nil for none"
    }
    switch freeSpace {
    case nil: return nil
    case .bytes(let bytes): return bytes < 0 ? "the space to be left free is negative" : nil
    case .fraction(let part):
      return (0...1).contains(part)
        ? nil : "the part of the disk to be left free is \(part): it must be from 0 to 1"
    }
  }
}

extension Retention {
  /// Why an archive was deleted.
  @nonexhaustive
  public enum Rule: String, CaseIterable, Sendable {
    /// It was older than ``Retention/age``.
    case age
    /// There were more than ``Retention/count``.
    case count
    /// They took more than ``Retention/totalSize``.
    case totalSize
    /// Less than ``Retention/freeSpace`` was free.
    case freeSpace
    /// The program asked for it.
    case request
  }
}
