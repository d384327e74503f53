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

/// Counts how many bytes are in memory because of records that somebody keeps: the records
/// themselves, and what they keep of archives. A record of a few bytes may keep a frame.
package struct KeptBytes {
  private struct Counted {
    weak var payload: Payload?
  }

  /// The payloads that were counted and still exist: the records of merged frames alternate.
  private var counted: [ObjectIdentifier: Counted] = [:]
  /// The count at which those that are gone are forgotten.
  private var maximumCount = 1024

  package init() {}

  /// Returns how many more bytes are kept together with a record.
  ///
  /// - Parameter last: A record that was added and is still kept, probably of the same frame.
  package mutating func add(
    _ record: LogReader.Record, behind last: LogReader.Record? = nil
  ) -> Int {
    (record.owner === last?.owner ? 0 : add(record.owner)) + MemoryLayout<LogReader.Record>.stride
  }

  /// Returns how many more bytes are kept together with records.
  package mutating func add(_ records: LogReader.Records) -> Int {
    add(records.owner) + records.count * MemoryLayout<RecordContent>.stride
  }

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

extension LogReader.Record {
  /// The same record, which keeps its own bytes in memory, and no frame.
  package var copy: LogReader.Record {
    withExtendedLifetime(owner) {
      let payload = Payload(content.values)
      var content = content
      content.values = payload.bytes
      let kept = owner.kept.filter { !($0 is Payload) } + [payload]
      return LogReader.Record(
        owner: RecordOwner(session, owner.clock, of: owner.frame, keeping: kept), content: content)
    }
  }
}
