import Glibc

/// A line, or a record of several lines, or a piece of a line that is too long.
struct Line {
  /// What it ends with.
  enum End {
    /// A line end, which does not belong to it.
    case newline
    /// The input's end.
    case input
    /// The next piece of the line.
    case piece
  }

  let bytes: UnsafeRawBufferPointer
  let end: End
  /// Whether this begins a line. Otherwise it continues the line before it.
  let isBeginning: Bool
}

/// Collects what was read until there is a line end, or all lines of a record, in one buffer that
/// grows up to the longest line.
struct LineSplitter: ~Copyable {
  private var buffer: UnsafeMutableRawBufferPointer
  /// How many bytes of the buffer are filled.
  private var filled = 0
  /// How many of these bytes have been taken.
  private var taken = 0
  /// The place from which on no line end has been searched for yet.
  private var searched = 0
  /// How many bytes have been passed on.
  private var passed = 0
  /// Where the last line of the pending record ends: more lines may belong to the record.
  private var pendingEnd: Int?
  /// How many pending records have ended.
  private var ended = 0
  /// Whether a piece of the next line has been given already.
  private var isInLine = false
  private var joiner: LineJoiner?
  private let longest: Int

  /// - Parameters:
  ///   - longest: Lines with more bytes than this are given in pieces of that size.
  ///   - joiner: Decides which lines are one record; nil: each line is one.
  init(longest: Int, joiner: LineJoiner?) {
    (self.longest, self.joiner) = (longest, joiner)
    buffer = .allocate(byteCount: 1 << 16, alignment: 16)
  }

  deinit { buffer.deallocate() }

  /// The space for the bytes that are read next.
  var space: UnsafeMutableRawBufferPointer {
    mutating get {
      moveToFront()
      if filled > buffer.count / 2, buffer.count < longest + (1 << 16) { grow() }
      return UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
    }
  }

  /// Says that `count` bytes were put into ``space``.
  mutating func add(_ count: Int) { filled += count }

  /// The number of the record whose lines ``forEachRecord(_:)`` has not given yet; nil: there is
  /// none.
  var pendingRecord: Int? { isPending ? ended : nil }

  private var isPending: Bool { pendingEnd != nil }

  /// Takes all complete records, without their last line ends, and pieces of a line that is too
  /// long.
  mutating func forEachRecord(_ body: (Line) -> Void) {
    let joins = joiner != nil
    while let end = nextEnd() {
      searched = end + 1
      takePieces(before: end, body)
      if joins {
        join(lineEndingAt: end, body)
      } else {
        give(until: end, .newline, body)
        taken = end + 1
      }
    }
    searched = filled
    takePieces(before: filled, body)
  }

  /// Takes pieces of a line that is too long.
  ///
  /// - Parameter end: Where the line ends, or the first place where it may.
  private mutating func takePieces(
    before end: Int, _ body: (Line) -> Void
  ) {
    // No line joins a record that is this long. So the buffer always has room for a longest line.
    if end - taken > LineJoiner.largest { endPending(body) }
    while end - lineStart > longest {
      give(until: taken + longest, .piece, body)
      taken += longest
    }
  }

  /// Takes the pending record, since no more lines belong to it.
  mutating func endPending(_ body: (Line) -> Void) {
    guard let end = pendingEnd else { return }
    give(until: end, .newline, body)
    (taken, pendingEnd, ended) = (end + 1, nil, ended + 1)
  }

  /// Takes what is left, such as a last line without an end.
  mutating func finish(_ body: (Line) -> Void) {
    let line = slice(lineStart, filled)
    if isPending, !line.isEmpty, joiner?.takes(line) == true { pendingEnd = nil }
    endPending(body)
    if filled > taken { give(until: filled, .input, body) }
    taken = filled
  }

  /// Returns what has been given since the last call. Valid until ``space`` is asked for again.
  mutating func takeGiven() -> UnsafeRawBufferPointer {
    defer { passed = taken }
    return slice(passed, taken)
  }

  private mutating func join(
    lineEndingAt end: Int, _ body: (Line) -> Void
  ) {
    let line = slice(lineStart, end)
    let belongs = joiner?.takes(line) ?? false
    if !belongs || end - taken > LineJoiner.largest { endPending(body) }
    pendingEnd = end
  }

  /// Gives the bytes before a place that have not been taken.
  private mutating func give(until place: Int, _ end: Line.End, _ body: (Line) -> Void) {
    body(Line(bytes: slice(taken, place), end: end, isBeginning: !isInLine))
    isInLine = end == .piece
  }

  /// The beginning of the line whose end has not come yet.
  private var lineStart: Int { pendingEnd.map { $0 + 1 } ?? taken }

  private func slice(_ start: Int, _ end: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: buffer[start..<end])
  }

  private func nextEnd() -> Int? {
    guard searched < filled, let base = buffer.baseAddress,
      let found = memchr(base + searched, 10, filled - searched)
    else { return nil }
    return UnsafeRawPointer(found) - UnsafeRawPointer(base)
  }

  private mutating func moveToFront() {
    guard taken > 0, let base = buffer.baseAddress else { return }
    memmove(base, base + taken, filled - taken)
    filled -= taken
    searched -= taken
    passed = max(0, passed - taken)
    pendingEnd = pendingEnd.map { $0 - taken }
    taken = 0
  }

  private mutating func grow() {
    let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: buffer.count * 2, alignment: 16)
    larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[..<filled]))
    buffer.deallocate()
    buffer = larger
  }
}
