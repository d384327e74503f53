import MMLogFormat

/// What names a frame within its session.
struct FrameName: Hashable {
  let archive: UInt32
  let ordinal: UInt64
  /// Of the payload.
  let checksum: UInt32

  /// What the names of its records begin with.
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

/// What records refer to without counting references: their bytes, call sites, labels and threads.
/// One reference to it keeps all of that.
///
/// Proof of `@unchecked Sendable`: the session is Sendable, and what else there is, is only kept.
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

/// Counts what records that somebody keeps hold in memory of their archives: a record of a few
/// bytes may keep a frame.
package struct KeptBytes {
  private struct Counted {
    weak var payload: Payload?
  }

  /// What was counted and is still there: frames that are merged take turns.
  private var counted: [ObjectIdentifier: Counted] = [:]
  /// With so many, those are forgotten that are gone.
  private var maximumCount = 1024

  package init() {}

  /// How many bytes more are kept together with a record.
  package mutating func add(_ record: LogReader.Record) -> Int { add(record.owner) }

  /// How many bytes more are kept together with records.
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
