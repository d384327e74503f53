public import CMMLogWriter
public import MMLogFormat

/// A part of a message's static text: a literal, or what is known of an argument at compile time.
///
/// Three words, so that the optimizer keeps the parts of a log statement as constants:
/// ``MessageParts`` puts them into memory when a call site is seen for the first time.
@frozen
public struct MessagePart: BitwiseCopyable, Sendable {
  /// Address of the literal's text, or of the argument's name; 0 for none.
  @usableFromInline let text: UInt
  /// Everything else but the appearance. A literal uses other bits than an argument, so that one
  /// word can be the head of both: see ``MessageParts``.
  @usableFromInline let head: UInt64
  /// An argument's format (low half) and alignment (high half), as on disk.
  @usableFromInline let appearance: UInt64

  /// The bits of a head: the length of a literal's text; an argument's type, width and privacy;
  /// whether there is an argument, a name, an appearance; and the length of the name.
  @inlinable static var literalMask: UInt64 { 1 << 24 - 1 }
  @inlinable static var typeShift: UInt64 { 24 }
  @inlinable static var widthShift: UInt64 { 32 }
  @inlinable static var privacyShift: UInt64 { 40 }
  @inlinable static var argumentBit: UInt64 { 1 << 44 }
  @inlinable static var nameBit: UInt64 { 1 << 45 }
  @inlinable static var appearanceBit: UInt64 { 1 << 46 }
  @inlinable static var nameShift: UInt64 { 47 }

  @inlinable @inline(__always)
  init(text: UInt, head: UInt64, appearance: UInt64) {
    self.text = text
    self.head = head
    self.appearance = appearance
  }

  /// A literal, of fewer than 16 MiB.
  @inlinable @inline(__always)
  init(literal: UnsafePointer<UInt8>?, count: Int) {
    self.init(
      text: UInt(bitPattern: literal), head: UInt64(truncatingIfNeeded: count) & Self.literalMask,
      appearance: 0)
  }

  @inlinable @inline(__always)
  init(literal: StaticString) {
    self.init(literal: literal.utf8Start, count: literal.utf8CodeUnitCount)
  }

  /// A literal that is given as bytes, which have to stay where they are while the part is used.
  init(literal: UnsafeRawBufferPointer) {
    self.init(
      literal: literal.baseAddress?.assumingMemoryBound(to: UInt8.self),
      count: min(literal.count, Int(Self.literalMask)))
  }

  @inlinable @inline(__always)
  init(argument type: UInt8, width: Int, name: StaticString?, style: ArgumentStyle) {
    let part = MessagePart(
      argument: type, width: width, privacy: style.privacy.code, appearance: style.appearance)
    // Not `map`: without optimization, a generic type is looked up under a lock.
    var (text, head) = (0 as UInt, part.head)
    if let name, name.utf8CodeUnitCount > 0 {
      text = UInt(bitPattern: name.utf8Start)
      head |= Self.nameBit
      head |= UInt64(truncatingIfNeeded: name.utf8CodeUnitCount) << Self.nameShift
    }
    self.init(text: text, head: head, appearance: style.appearance)
  }

  /// An argument without a name.
  @inlinable @inline(__always)
  init(argument type: UInt8, width: Int, privacy: UInt8, appearance: UInt64) {
    let bits =
      UInt64(type) << Self.typeShift | UInt64(UInt8(truncatingIfNeeded: width)) << Self.widthShift
      | UInt64(privacy) << Self.privacyShift
    self.init(
      text: 0,
      head: bits | Self.argumentBit | (appearance == 0 ? 0 : Self.appearanceBit),
      appearance: appearance)
  }

  @inlinable var isArgument: Bool { head & Self.argumentBit != 0 }

  /// The bytes of the literal, or of the argument's name.
  var bytes: UnsafeRawBufferPointer {
    let length = isArgument ? head >> Self.nameShift : head & Self.literalMask
    return UnsafeRawBufferPointer(
      start: UnsafeRawPointer(bitPattern: text), count: Int(truncatingIfNeeded: length))
  }
}

/// The hash of a call site, as far as its words are mixed in.
///
/// It is 1 + Σ xᵢ·kᵢ over words, modulo 2⁶⁴. The addresses of literals are the only words of a log
/// statement that the compiler does not know, so it makes one constant of all others. The factors
/// of addresses have 31 bits, so that they fit into an instruction. That is enough: the addresses
/// of one program are close to each other, and only statements at the same place in the source are
/// distinguished by addresses alone. All factors are even, and so the hash is odd.
@frozen
@usableFromInline
struct SiteHash: Sendable {
  // Two sums: in one sum, constants that are added before and after a branch would stay two
  // constants.
  @usableFromInline var known: UInt64 = 1
  @usableFromInline var addresses: UInt64 = 0
  @usableFromInline var factor: UInt64 = 2 &* 0x9E37_79B9_7F4A_7C15

  @inlinable @inline(__always)
  init() {}

  /// The hash. Never 0, which marks an empty place of the cache.
  @inlinable @inline(__always)
  var value: UInt64 { known &+ addresses }

  @inlinable @inline(__always)
  mutating func mix(_ word: UInt64) {
    known &+= word &* factor
    factor &*= 0xD6E8_FEB8_6659_FD93
  }

  @inlinable @inline(__always)
  mutating func mix(address: UInt) {
    addresses &+= UInt64(address) &* ((factor >> 34) << 1 | 2)
    factor &*= 0xD6E8_FEB8_6659_FD93
  }

  @inlinable @inline(__always)
  mutating func mix(_ part: MessagePart) {
    mix(address: part.text)
    mix(part.head)
    mix(part.appearance)
  }
}

/// The parts of one message as words, and a hash of them.
///
/// A part is its head, then the address of its text or name if it has one, and its appearance if it
/// has one. An argument behind a literal shares the literal's head, and adds only the rest. So a
/// log statement stores its parts in few instructions, most of which store constants.
@frozen
public struct MessageParts: Sendable {
  /// Parts for which there is no room here are kept on the heap. There is room for any 23 parts
  /// without names, and for eleven arguments with names and formats.
  @inlinable static var capacity: Int { 48 }

  /// Zeros behind the last part.
  @usableFromInline var first: InlineArray<48, UInt64>
  /// How many words there are in `first`.
  @usableFromInline var count: Int
  /// How many words the last part takes, if it is a literal; else 0.
  @usableFromInline var literal: Int
  @usableFromInline var hash: SiteHash
  /// The parts for which there was no room. Whoever commits the record frees them.
  @usableFromInline var further: FurtherParts

  @inlinable @inline(__always)
  init() {
    // An array literal, because `init(repeating:)` becomes a call, and everything whose address a
    // call gets stays in memory. With `init(repeating:)`, a log call took twice as long wherever a
    // module had several.
    first = [
      0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
      0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    ]
    count = 0
    literal = 0
    hash = SiteHash()
    further = FurtherParts()
  }

  /// Adds a part. Its only branch is one that the compiler can decide.
  @inlinable @inline(__always)
  mutating func append(_ part: MessagePart) {
    hash.mix(part)
    if count > Self.capacity - 3 {
      further = further.appending(part)
      return
    }
    // An argument shares the head of a literal before it, which is `literal` words back.
    let shared = part.isArgument ? literal : 0
    self[count &- shared] |= part.head
    count &+= shared == 0 ? 1 : 0
    // If there is no text, this stores a zero that is not counted.
    self[count] = UInt64(part.text)
    let hasText = part.head & (MessagePart.literalMask | MessagePart.nameBit) != 0
    count &+= hasText ? 1 : 0
    self[count] = part.appearance
    count &+= part.head & MessagePart.appearanceBit != 0 ? 1 : 0
    literal = part.isArgument ? 0 : hasText ? 2 : 1
  }

  /// A word for which there is room.
  ///
  /// Uses neither a subscript of `first` nor a typed pointer: with these, each log call would guard
  /// its stack against writes beyond the elements.
  @inlinable
  subscript(index: Int) -> UInt64 {
    @inline(__always)
    get {
      _withUnprotectedUnsafePointer(to: first) {
        (UnsafeRawPointer($0) + index &* wordSize).load(as: UInt64.self)
      }
    }
    @inline(__always)
    set {
      _withUnprotectedUnsafeMutablePointer(to: &first) {
        (UnsafeMutableRawPointer($0) + index &* wordSize)
          .assumingMemoryBound(to: UInt64.self).pointee = newValue
      }
    }
  }

  /// Leaves the words with the writer of their record.
  @inlinable @inline(__always)
  func store(in writer: UnsafeMutablePointer<mmlog_writer>) {
    let words = mmlog_site_words_of(writer)
    // The number of words is a constant in each log statement.
    var index = 0
    while index < count {
      words[index] = self[index]
      index &+= 1
    }
  }

  /// The parts that ``store(in:)`` has left.
  ///
  /// - Parameters:
  ///   - count: How many words there are.
  ///   - further: The parts for which there was no room.
  init(
    storedIn writer: UnsafeMutablePointer<mmlog_writer>, count: Int, _ further: FurtherParts
  ) {
    self.init()
    (self.count, self.further) = (count, further)
    // Not `for in`: see LogCall.freeWriter.
    var index = 0
    while index < count {
      first[index] = mmlog_site_words_of(writer)[index]
      index += 1
    }
  }

  /// Calls `body` with all parts one after the other.
  func forEach(_ body: (MessagePart) -> Void) {
    var index = 0
    while index < count {
      let head = first[index]
      index += 1
      let length = head & MessagePart.literalMask
      if length > 0 {
        body(MessagePart(text: UInt(first[index]), head: length, appearance: 0))
        index += 1
      }
      if head & MessagePart.argumentBit == 0 { continue }
      var (name, appearance) = (0 as UInt64, 0 as UInt64)
      if head & MessagePart.nameBit != 0 {
        name = first[index]
        index += 1
      }
      if head & MessagePart.appearanceBit != 0 {
        appearance = first[index]
        index += 1
      }
      let ofArgument = head & ~MessagePart.literalMask
      body(MessagePart(text: UInt(name), head: ofArgument, appearance: appearance))
    }
    index = 0
    while index < further.count {
      body(further[index])
      index += 1
    }
  }
}

/// Memory for the parts of unusually long messages, without reference counting.
@frozen
public struct FurtherParts: @unchecked Sendable {
  // Sendable: written only while its message is built, by one thread, and then read by the same.
  @usableFromInline var base: UnsafeMutablePointer<MessagePart>?
  @usableFromInline var count: Int

  @inlinable @inline(__always)
  init() { (base, count) = (nil, 0) }

  init(base: UnsafeMutablePointer<MessagePart>?, count: Int) {
    (self.base, self.count) = (base, count)
  }

  subscript(index: Int) -> MessagePart {
    base?[index] ?? MessagePart(text: 0, head: 0, appearance: 0)
  }

  /// Adds a part. Takes new memory each time that the number of parts reaches a power of two.
  @usableFromInline @inline(never)
  func appending(_ part: MessagePart) -> FurtherParts {
    var copy = self
    if count & (count - 1) == 0 {
      let larger = UnsafeMutablePointer<MessagePart>.allocate(capacity: max(1, count * 2))
      if let base { larger.update(from: base, count: count) }
      base?.deallocate()
      copy.base = larger
    }
    copy.base?[count] = part
    copy.count += 1
    return copy
  }

  /// Frees the memory, if there is any.
  @inlinable @inline(__always)
  func free() {
    // A constant in each log statement.
    if count > 0 { freeMemory() }
  }

  @usableFromInline @inline(never)
  func freeMemory() { base?.deallocate() }

  /// A copy in memory of its own, for a call whose record is not lost. If the record is lost, the
  /// memory of these parts may be gone.
  @inlinable @inline(__always)
  func copy(for writer: UnsafeMutablePointer<mmlog_writer>) -> FurtherParts {
    // A constant in each log statement.
    count == 0 ? self : outlinedCopy(for: writer)
  }

  @usableFromInline @inline(never)
  func outlinedCopy(for writer: UnsafeMutablePointer<mmlog_writer>) -> FurtherParts {
    var copy = FurtherParts()
    if writer.pointee.lost != 0 { return copy }
    for index in 0..<count { copy = copy.appending(self[index]) }
    return copy
  }
}
