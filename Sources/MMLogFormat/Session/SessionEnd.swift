/// How a session ended, and when.
///
/// Immutable; any thread.
public struct SessionEnd: Hashable, Sendable {
  /// The ways in which a session ends.
  @nonexhaustive
  public enum How: UInt32, CaseIterable, Sendable {
    /// The store was closed.
    case closed = 1
    /// The process ended without a sign of why, and the machine has run on since: SIGKILL, the
    /// kernel's out-of-memory killer, a fatal signal that nobody recorded, or `_exit(2)`.
    case killed
    /// The process exited, by `exit(3)` or the end of `main`, without closing the store.
    case exited
    /// SIGTERM, SIGINT or SIGHUP ended the process by its default action.
    case terminated
    /// A fatal signal ended the process, and there is a report of it.
    case crashed
    /// As ``killed``, or the machine went down: the machine has been started since.
    case powerLost

    /// Whether somebody should find out why: ``crashed``, ``killed`` or ``powerLost``. An operator
    /// or a program asks for the other endings.
    public var isCrash: Bool {
      switch self {
      case .crashed, .killed, .powerLost: true
      case .closed, .exited, .terminated: false
      }
    }
  }

  /// How the session ended.
  public let how: How
  /// When it ended. For ``How/killed`` and ``How/powerLost``, the time of the last sign of life,
  /// which a process gives once a second, or of its last record, if that is known.
  public private(set) var time: Timestamp
  /// The signal that ended it; 0 if none did, or it is not known.
  public let signal: Int32
  /// The process that sent the signal; 0 if no process did, or it is not known.
  public let sender: UInt32
  /// When the rest of the session's ring was moved to an archive; nil if that was not needed, or is
  /// still to be done.
  public private(set) var recovered: Timestamp?

  package init(_ how: How, time: Timestamp, signal: Int32 = 0, sender: UInt32 = 0) {
    (self.how, self.time, self.signal, self.sender) = (how, time, signal, sender)
  }

  /// The end of a session that has a crash report.
  package init(_ crash: CrashReport) {
    self.init(.crashed, time: crash.time, signal: crash.signal, sender: crash.sender)
  }

  /// The same end, of a session that is being recovered.
  package func recovered(at time: Timestamp) -> SessionEnd {
    var end = self
    end.recovered = time
    return end
  }

  /// The same end, but not before the session's last record, unless the time of the end is known
  /// exactly.
  package func notBefore(_ lastTime: Timestamp) -> SessionEnd {
    var end = self
    if how == .killed || how == .powerLost { end.time = max(time, lastTime) }
    return end
  }

  /// How it ended, in words: `ended by SIGTERM from process 4711`.
  public var summary: String {
    switch how {
    case .closed: "closed"
    case .killed: "killed, without a sign of why"
    case .exited: "exited without closing its store"
    case .terminated: "ended by \(signalName(signal))\(sentBy)"
    case .crashed: "crashed by \(signalName(signal))"
    case .powerLost: "killed, or the machine went down"
    }
  }

  private var sentBy: String { sender == 0 ? "" : " from process \(sender)" }
}

/// The bytes in the ring, where a handler in C writes them, and in a frame's payload.
extension SessionEnd {
  package var encoded: [UInt8] {
    typealias Layout = SessionEndLayout
    var bytes = [UInt8](repeating: 0, count: Layout.size)
    bytes.withUnsafeMutableBytes { out in
      out.store(how.rawValue, Layout.how)
      out.store(signal, Layout.signal)
      out.store(sender, Layout.sender)
      out.store(time, Layout.time)
      out.store(recovered ?? .zero, Layout.recovered)
      out.store(crc32c(UnsafeRawBufferPointer(out)), Layout.checksum)
    }
    return bytes
  }

  /// Reads what ``encoded`` gave; nil where nothing was written, or not all of it.
  package init?(_ bytes: UnsafeRawBufferPointer) {
    typealias Layout = SessionEndLayout
    guard bytes.count >= Layout.size,
      let how = How(rawValue: bytes.load(Layout.how, as: UInt32.self))
    else { return nil }
    self.init(
      how, time: bytes.load(Layout.time, as: Timestamp.self),
      signal: bytes.load(Layout.signal, as: Int32.self),
      sender: bytes.load(Layout.sender, as: UInt32.self))
    let recovered = bytes.load(Layout.recovered, as: Timestamp.self)
    if recovered != .zero { self.recovered = recovered }
    // Every field is in what is encoded, so that this compares the checksum, too.
    guard bytes.prefix(Layout.size).elementsEqual(encoded) else { return nil }
  }
}
