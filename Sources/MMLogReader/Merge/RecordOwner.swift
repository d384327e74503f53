import MMLogFormat

/// The name of a frame within its session.
struct FrameName: Hashable {
  let archive: UInt32
  let ordinal: UInt64
  /// The checksum of the payload.
  let checksum: UInt32

  /// The beginning of the names of the frame's records.
  func text(of session: SessionID) -> String {
    "\(session).\(archive).\(ordinal).\(checksum.allHexDigits)."
  }
}

extension FrameName {
  init(_ header: FrameHeader) {
    self.init(
      archive: header.archive.number, ordinal: header.ordinal, checksum: header.payloadChecksum)
  }
}

/// Keeps what records refer to without counting references: their bytes, call sites, labels and
/// threads. One reference to this object keeps all of it.
///
/// Proof of `@unchecked Sendable`: the session is Sendable, and everything else is only kept.
final class RecordOwner: @unchecked Sendable {
  let session: LogReader.Session
  /// Turns the ticks of its records into wall time.
  let clock: TickClock
  /// The frame that its records are in; nil for a ring.
  let frame: FrameName?
  fileprivate let kept: [AnyObject]

  init(
    _ session: LogReader.Session, _ clock: TickClock, of frame: FrameName? = nil,
    keeping kept: [AnyObject]
  ) {
    self.frame = frame
    self.session = session
    self.clock = clock
    self.kept = kept
  }
}

/// Counts how many bytes of archives are in memory because of records that somebody keeps: a record
/// of a few bytes may keep a frame.
package struct KeptBytes {
  private struct Counted {
    weak var payload: Payload?
  }

  /// The payloads that were counted and still exist: the records of merged frames alternate.
  private var counted: [ObjectIdentifier: Counted] = [:]
  /// When there are so many, those that are gone are forgotten.
  private var maximumCount = 1024

  package init() {}

  /// Returns how many more bytes are kept together with a record.
  package mutating func add(_ record: LogReader.Record) -> Int { add(record.owner) }

  /// Returns how many more bytes are kept together with records.
  package mutating func add(_ records: LogReader.Records) -> Int { add(records.owner) }

  private mutating func add(_ owner: RecordOwner) -> Int {
    var bytes = 0
    for case let payload as Payload in owner.kept
    where counted[ObjectIdentifier(payload)]?.payload !== payload {
      forgetGone()
      counted[ObjectIdentifier(payload)] = Counted(payload: payload)
      bytes += payload.bytes.count
    }
    return bytes
  }

  private mutating func forgetGone() {
    if counted.count < maximumCount { return }
    counted = counted.filter { $0.value.payload != nil }
    maximumCount = max(1024, 2 * counted.count)
  }
}
