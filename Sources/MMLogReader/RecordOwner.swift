import MMLogFormat

/// What records refer to without counting references: their bytes, call sites, labels and threads.
/// One reference to it keeps all of that.
///
/// Proof of `@unchecked Sendable`: the session is Sendable, and what else there is, is only kept.
final class RecordOwner: @unchecked Sendable {
  let session: LogReader.Session
  /// Turns the ticks of its records into wall time.
  let clock: TickClock
  private let kept: [AnyObject]

  init(_ session: LogReader.Session, _ clock: TickClock, keeping kept: [AnyObject]) {
    self.session = session
    self.clock = clock
    self.kept = kept
  }
}

/// Values that stay in one place for as long as it lives, so that nothing is counted on the way to
/// them.
///
/// Proof of `@unchecked Sendable`: nobody changes them.
struct StableArray<Element: BitwiseCopyable>: ~Copyable, @unchecked Sendable {
  let elements: UnsafeBufferPointer<Element>

  init(_ elements: [Element]) {
    let copy = UnsafeMutableBufferPointer<Element>.allocate(capacity: elements.count)
    _ = copy.initialize(from: elements)
    self.elements = UnsafeBufferPointer(copy)
  }

  deinit { elements.deallocate() }
}
