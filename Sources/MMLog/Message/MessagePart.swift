/// A part of a message's static text: a literal, or what is known of an argument at compile time.
///
/// Three words, so that the optimizer keeps the parts of a log statement as constants: they are
/// only put into memory when a call site is seen for the first time.
@frozen
public struct MessagePart: BitwiseCopyable, Sendable {
  /// Address of the literal's text, or of the argument's name; 0 for none.
  @usableFromInline let text: UInt
  /// Length of the text, and for an argument its kind, as ``argumentBit`` and the shifts say.
  @usableFromInline let detail: UInt64
  /// An argument's format (low half) and alignment (high half), as on disk.
  @usableFromInline let appearance: UInt64

  @inlinable static var argumentBit: UInt64 { 1 << 32 }
  @inlinable static var typeShift: UInt64 { 40 }
  @inlinable static var privacyShift: UInt64 { 48 }
  @inlinable static var widthShift: UInt64 { 56 }

  @inlinable @inline(__always)
  init(text: UInt, detail: UInt64, appearance: UInt64) {
    self.text = text
    self.detail = detail
    self.appearance = appearance
  }

  @inlinable @inline(__always)
  init(literal: StaticString) {
    self.init(
      text: UInt(bitPattern: literal.utf8Start), detail: UInt64(literal.utf8CodeUnitCount),
      appearance: 0)
  }

  /// A literal that is there as bytes, which have to stay where they are while the part is used.
  init(literal: UnsafeRawBufferPointer) {
    self.init(
      text: UInt(bitPattern: literal.baseAddress), detail: UInt64(literal.count), appearance: 0)
  }

  @inlinable @inline(__always)
  init(argument type: UInt8, width: Int, name: StaticString?, style: ArgumentStyle) {
    let length = name.map { UInt64($0.utf8CodeUnitCount) } ?? 0
    self.init(
      text: name.map { UInt(bitPattern: $0.utf8Start) } ?? 0,
      detail: length | Self.argumentBit | UInt64(type) << Self.typeShift
        | UInt64(style.privacy.code) << Self.privacyShift | UInt64(width & 0xFF) << Self.widthShift,
      appearance: style.appearance)
  }
}

/// What the hash of a call site is made of so far.
///
/// It is Σ xᵢ·kⁱ over words, modulo 2⁶⁴: the addresses of literals are the only words of a log
/// statement that the compiler does not know, so all others melt into one constant.
@frozen
@usableFromInline
struct SiteHash: Sendable {
  @usableFromInline var sum: UInt64 = 0
  @usableFromInline var power: UInt64 = 0x9E37_79B9_7F4A_7C15

  @inlinable @inline(__always)
  init() {}

  /// The hash. Never 0, which marks an empty place of the cache.
  @inlinable @inline(__always)
  var value: UInt64 { sum | 1 }

  @inlinable @inline(__always)
  mutating func mix(_ word: UInt64) {
    sum &+= word &* power
    power &*= 0xD6E8_FEB8_6659_FD93
  }

  @inlinable @inline(__always)
  mutating func mix(_ part: MessagePart) {
    mix(UInt64(part.text))
    mix(part.detail)
    mix(part.appearance)
  }
}

/// The parts of one message and a hash of them.
@frozen
public struct MessageParts: Sendable {
  /// More parts than this are kept on the heap: a message with more than eleven arguments.
  @inlinable static var capacity: Int { 23 }

  @usableFromInline var first: InlineArray<23, MessagePart>
  @usableFromInline var count: Int
  @usableFromInline var hash: SiteHash
  /// The parts from ``capacity`` on. Whoever commits the record frees them.
  @usableFromInline var more: MoreParts

  @inlinable @inline(__always)
  init() {
    // A literal, because `init(repeating:)` becomes a call, and everything a call gets the address
    // of stays in memory: with it a log call took twice as long wherever a module had several.
    let none = MessagePart(text: 0, detail: 0, appearance: 0)
    first = [
      none, none, none, none, none, none, none, none, none, none, none, none, none, none, none,
      none,
      none, none, none, none, none, none, none,
    ]
    count = 0
    hash = SiteHash()
    more = MoreParts()
  }

  @inlinable @inline(__always)
  mutating func append(_ part: MessagePart) {
    hash.mix(part)
    if count < Self.capacity {
      first[unchecked: count] = part
    } else {
      more = more.appending(part, at: count - Self.capacity)
    }
    count &+= 1
  }

  /// The parts from ``capacity`` on.
  @inlinable @inline(__always)
  var further: FurtherParts { FurtherParts(memory: more, count: count &- Self.capacity) }

  /// Calls `body` with all parts one after the other.
  func forEach(_ body: (MessagePart) -> Void) {
    for index in 0..<min(count, Self.capacity) { body(first[index]) }
    for index in 0..<max(0, count - Self.capacity) { body(more[index]) }
  }
}

/// Memory for the parts of unusually long messages, without reference counting.
@frozen
public struct MoreParts: @unchecked Sendable {
  // Sendable: written only while its message is built, by one thread, and then read by the same.
  @usableFromInline var base: UnsafeMutablePointer<MessagePart>?

  @inlinable @inline(__always) init() { base = nil }

  subscript(index: Int) -> MessagePart {
    guard let base else { return MessagePart(text: 0, detail: 0, appearance: 0) }
    return base[index]
  }

  /// Adds a part, in new memory each time that a power of two is reached.
  @usableFromInline @inline(never)
  func appending(_ part: MessagePart, at index: Int) -> MoreParts {
    var copy = self
    if index & (index - 1) == 0 {
      let larger = UnsafeMutablePointer<MessagePart>.allocate(capacity: max(1, index * 2))
      if let base { larger.update(from: base, count: index) }
      base?.deallocate()
      copy.base = larger
    }
    copy.base?[index] = part
    return copy
  }

  @usableFromInline @inline(never)
  func free() { base?.deallocate() }
}

/// So many parts in memory.
@frozen
@usableFromInline
struct FurtherParts {
  @usableFromInline let memory: MoreParts
  @usableFromInline let count: Int

  @inlinable @inline(__always)
  init(memory: MoreParts, count: Int) {
    self.memory = memory
    self.count = count
  }

  /// Frees the memory, if there is any.
  @inlinable @inline(__always)
  func free() {
    // A constant in each log statement.
    if count > 0 { memory.free() }
  }

  func copy() -> MoreParts {
    var copy = MoreParts()
    for index in 0..<max(0, count) { copy = copy.appending(memory[index], at: index) }
    return copy
  }
}
