import Glibc

/// Collects what was read until there is a line end, in one buffer that grows up to the longest
/// line.
struct LineSplitter: ~Copyable {
  private var buffer: UnsafeMutableRawBufferPointer
  /// What of the buffer is filled.
  private var filled = 0
  /// What has been taken of that.
  private var taken = 0
  /// Where a line end has not been searched for yet.
  private var searched = 0
  private let longest: Int

  /// - Parameter longest: Longer lines are given in pieces of so many bytes.
  init(longest: Int) {
    self.longest = longest
    buffer = .allocate(byteCount: 1 << 16, alignment: 16)
  }

  deinit { buffer.deallocate() }

  /// Where what is read next goes.
  var space: UnsafeMutableRawBufferPointer {
    mutating get {
      moveToFront()
      if filled > buffer.count / 2, buffer.count < longest + (1 << 16) { grow() }
      return UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
    }
  }

  /// Says that so many bytes were put into ``space``.
  ///
  /// - Returns: These bytes, valid until there is to be ``space`` again.
  mutating func add(_ count: Int) -> UnsafeRawBufferPointer {
    filled += count
    return slice(filled - count, filled)
  }

  /// Takes all complete lines, without their ends, and pieces of one that is too long.
  mutating func forEachLine(_ body: (UnsafeRawBufferPointer, _ isTerminated: Bool) -> Void) {
    while let end = nextEnd() {
      body(slice(taken, end), true)
      taken = end + 1
      searched = taken
    }
    searched = filled
    while filled - taken >= longest {
      body(slice(taken, taken + longest), false)
      taken += longest
    }
  }

  /// Takes what is left: a last line without an end.
  mutating func finish(_ body: (UnsafeRawBufferPointer, _ isTerminated: Bool) -> Void) {
    if filled > taken { body(slice(taken, filled), false) }
    taken = filled
  }

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
    taken = 0
  }

  private mutating func grow() {
    let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: buffer.count * 2, alignment: 16)
    larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[..<filled]))
    buffer.deallocate()
    buffer = larger
  }
}
