/// What is kept of a store's archives: limits that all hold at once, at any time.
///
/// What is over a limit is deleted archive by archive: those first that are uploaded, then the
/// oldest. Never deleted are archives that are being written, that are pinned, or that lie around a
/// crash; they count, though, so that a limit may be exceeded by them.
public struct Retention: Equatable, Sendable {
  /// The greatest number of archives, the one being written included; one without records, that
  /// only says how a session ended, does not count. Nil, the default: any, because their size is
  /// what a disk runs out of.
  public var count: Int?

  /// The maximum space that archives take on the disk together, in bytes (allocated blocks). Nil:
  /// any; default 1 GiB: some days of a busy service, and nothing that a disk of this time would
  /// miss.
  public var totalSize: Int? = 1 << 30

  /// How old an archive may become, counted from its last record. Nil, the default: any age,
  /// because old records cost nothing but the space that is limited already.
  public var age: Duration?

  /// The space that is left free on the file system; nil: none. Default: 5 % of it, so that logs
  /// are never what fills a disk up.
  ///
  /// For the sake of this limit the newest archives are not deleted as far as ``minimumSize`` goes:
  /// when others fill the disk, one wants to read what happened.
  public var freeSpace: FreeSpace? = .fraction(0.05)

  /// How many bytes of the newest archives ``freeSpace`` leaves alone. Default 64 MiB, one archive.
  public var minimumSize = 64 << 20

  /// For how many crashes, counted from the one that happened last, the archive before and the one
  /// after it are kept. Default 1. They take up to twice an archive's size each. A session that
  /// exited, or was ended by SIGTERM, SIGINT or SIGHUP, has not crashed:
  /// ``SessionEnd/How/isCrash``.
  public var crashes = 1

  /// How many bytes of archives that a shipper has not shipped yet the limits leave alone, the
  /// newest first; see `Shipper` in MMLogShipping. They count, though, so that ``totalSize`` may be
  /// exceeded by as much. Nil, the default: none. For ``freeSpace`` they are deleted all the same,
  /// after all others.
  public var unsentSize: Int?

  /// How old an archive may be that ``unsentSize`` spares, counted as for ``age``. Nil, the
  /// default: any age.
  public var unsentAge: Duration?

  /// Space on a file system.
  public enum FreeSpace: Equatable, Sendable {
    /// So many bytes.
    case bytes(Int)
    /// A part of the whole file system, from 0 to 1.
    case fraction(Double)

    /// In bytes, of a file system of `total` bytes.
    package func bytes(ofTotal total: Int) -> Int {
      switch self {
      case .bytes(let bytes): bytes
      // The largest total is as a Double larger than any integer.
      case .fraction(let part): Int(exactly: (Double(total) * part).rounded(.down)) ?? .max
      }
    }
  }

  /// The limits that are used unless others are given.
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
