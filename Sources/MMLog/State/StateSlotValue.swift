import CMMLogCore
public import CMMLogWriter
public import MMLogFormat

/// A type whose values a ``LogStore/StateSlot`` can have: integers of up to 64 bits, `Double`,
/// `Float`, `Bool` and `String`.
///
/// Readers know these types. Store a type of your own as one of them, such as an enumeration by its
/// raw value.
public protocol StateSlotValue: Sendable {
  /// The type as which readers take the value.
  static var slotType: ValueType { get }

  /// Overwrites the value in a place.
  func store(in place: StateSlotPlace)
}

/// Where a value of a ``LogStore/StateSlot`` goes.
@frozen
public struct StateSlotPlace: @unchecked Sendable {
  // Sendable: see StateSlot.
  @usableFromInline let state: UnsafeMutablePointer<mmlog_state>

  init(_ state: UnsafeMutablePointer<mmlog_state>) { self.state = state }

  @inlinable @inline(__always)
  func store(_ word: UInt64) { mmlog_store_state(state, word) }

  /// Stores a text of up to 56 bytes, with zeros up to the next word.
  ///
  /// Overwrites the older of the text's copies, so that the other copy is there whenever the
  /// process dies.
  @usableFromInline @inline(never)
  func store(_ words: UnsafePointer<UInt64>, size: Int) {
    // The place of a number has no room for a text. Nor has the state of nobody a lock that a child
    // of fork would free.
    guard state.pointee.is_text else { return }
    guard mmlog_try_lock_state(state) || mmlog_wait_for_state(state) else { return }
    let ordinal = state.pointee.ordinal &+ 1
    state.pointee.ordinal = ordinal
    let place = mmlog_state_place(state)
    mmlog_show_state(state, place)
    let copy = place + Int(ordinal & 1) * Int(MMLOG_STATE_COPY_WORDS)
    var (index, checksum) = (0, UInt64(UInt32.max))
    while index &* wordSize < size {
      let word = words[index]
      index &+= 1
      copy[index] = word
      checksum = mmlog_crc32c_word(checksum, word)
    }
    let lead = UInt32(truncatingIfNeeded: size) | ordinal << 8
    checksum = ~mmlog_crc32c_half(checksum, lead)
    mmlog_store_release_u64(copy, UInt64(lead) | checksum << StateSlotLayout.checksumShift)
    mmlog_unlock_state(state)
  }

  /// Stores a text that is not kept in the two words of a string.
  @usableFromInline @inline(never)
  func store(long text: String) {
    var text = text
    text.withUTF8 { Self.store($0, in: state) }
  }

  /// Stores a text, cut at a character's edge.
  package static func store(
    _ text: UnsafeBufferPointer<UInt8>, in state: UnsafeMutablePointer<mmlog_state>
  ) {
    let size = UnsafeRawBufferPointer(text)
      .countOfWholeCharacters(within: StateSlotLayout.longestText)
    let capacity = StateSlotLayout.longestText / wordSize
    withUnsafeTemporaryAllocation(of: UInt64.self, capacity: capacity) { words in
      words.initialize(repeating: 0)
      UnsafeMutableRawBufferPointer(words).copyMemory(
        from: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(text).prefix(size)))
      guard let start = words.baseAddress else { return }
      StateSlotPlace(state).store(start, size: size)
    }
  }
}

extension StateSlotValue where Self: FixedWidthInteger {
  /// An integer, signed or not.
  @inlinable public static var slotType: ValueType { isSigned ? .int : .uint }

  /// Overwrites the value in a place.
  @inlinable @inline(__always)
  public func store(in place: StateSlotPlace) { place.store(UInt64(truncatingIfNeeded: self)) }
}

extension Int: StateSlotValue {}
extension Int8: StateSlotValue {}
extension Int16: StateSlotValue {}
extension Int32: StateSlotValue {}
extension Int64: StateSlotValue {}
extension UInt: StateSlotValue {}
extension UInt8: StateSlotValue {}
extension UInt16: StateSlotValue {}
extension UInt32: StateSlotValue {}
extension UInt64: StateSlotValue {}

extension Double: StateSlotValue {
  /// A floating-point number.
  @inlinable public static var slotType: ValueType { .double }

  /// Overwrites the value in a place.
  @inlinable @inline(__always)
  public func store(in place: StateSlotPlace) { place.store(bitPattern) }
}

extension Float: StateSlotValue {
  /// A floating-point number.
  @inlinable public static var slotType: ValueType { .float }

  /// Overwrites the value in a place.
  @inlinable @inline(__always)
  public func store(in place: StateSlotPlace) { place.store(UInt64(bitPattern)) }
}

extension Bool: StateSlotValue {
  /// A Boolean.
  @inlinable public static var slotType: ValueType { .bool }

  /// Overwrites the value in a place.
  @inlinable @inline(__always)
  public func store(in place: StateSlotPlace) { place.store(self ? 1 : 0) }
}

extension String: StateSlotValue {
  /// A text.
  @inlinable public static var slotType: ValueType { .string }

  /// Overwrites the value in a place.
  @inlinable @inline(__always)
  public func store(in place: StateSlotPlace) {
    guard let small = SmallText(self) else { return place.store(long: self) }
    withUnsafePointer(to: small.words) {
      $0.withMemoryRebound(to: UInt64.self, capacity: 2) { place.store($0, size: small.count) }
    }
  }
}
