import CMMLogCore
public import CMMLogWriter
import MMLogFormat
import MMLogSystem

// A record's metadata is written by its values, while their keys are kept beside the writer. If the
// session has a key set of these keys, its number is entered at the end, and that is all. Else the
// keys are put between the values, and become a key set for the records that come. Everything here
// is async-signal-safe.
extension RecordCursor {
  /// Begins a record's metadata: pairs have to follow, each by ``append(key:_:)`` and what follows
  /// a type, and then ``endingMetadata()``.
  package mutating func beginMetadata() {
    writer.beginMetadata(start, next, checksum, flags)
    self = pickedUp
  }

  /// Leaves the record with its writer, while its metadata is written: where a cursor does not fit
  /// into registers, that is the shorter way. The checksum is left out.
  @inline(__always)
  package func putDown() {
    writer.pointee.record_start = start
    writer.pointee.record_next = next
    writer.pointee.record_flags = UInt32(flags)
  }

  /// The record that was put down, as it is now.
  package var pickedUp: RecordCursor { RecordCursor(putDownIn: writer) }

  /// The record that was put down.
  ///
  /// - Parameter checksum: Zero where it is made anew when the metadata ends.
  @inlinable @inline(__always)
  init(putDownIn writer: UnsafeMutablePointer<mmlog_writer>, checksum: UInt64 = 0) {
    self.writer = writer
    start = writer.pointee.record_start.unsafelyUnwrapped
    next = writer.pointee.record_next.unsafelyUnwrapped
    self.checksum = checksum
    flags = UInt8(truncatingIfNeeded: writer.pointee.record_flags)
  }

  /// Adds a key and the type of its value.
  @inline(__always)
  package mutating func append(key: String, _ type: ValueType) {
    if !writer.keep(TextWords(key), type, place) { self = appending(longKey: key, type) }
  }

  @inline(never)
  private func appending(longKey key: String, _ type: ValueType) -> RecordCursor {
    // Where others are when the metadata ends, nobody knows.
    var (cursor, key) = (self, key)
    key.withUTF8 { cursor.appendPair(key: UnsafeRawBufferPointer($0), type) }
    return cursor
  }

  /// Adds a key that is there as bytes, and the type of its value. The bytes have to stay where they
  /// are until the metadata ends.
  package mutating func append(key: UnsafeRawBufferPointer, _ type: ValueType) {
    if !writer.keep(bytes: key, type, place) { appendPair(key: key, type) }
  }

  /// The same where keys are not to be kept.
  private mutating func appendPair(key: UnsafeRawBufferPointer, _ type: ValueType) {
    if writer.pointee.key_count != MMLOG_NO_KEYS { insertKeys() }
    append(key, reserving: 0)
    append(checked: UInt64(type.rawValue))
    if writer.pointee.lost == 0 { start[Int(writer.pointee.block)] += 1 }
  }

  /// The record with its metadata complete.
  package func endingMetadata() -> RecordCursor {
    putDown()
    return RecordCursor(putDownIn: writer, checksum: writer.endMetadata())
  }

  /// The same where there is no key set.
  fileprivate func endingPairs() -> RecordCursor {
    var cursor = self
    if writer.pointee.key_count != MMLOG_NO_KEYS {
      cursor.insertKeys()
      if writer.pointee.lost == 0 { KeySets.learn(cursor) }
    }
    if writer.pointee.lost == 0 { cursor.checkMetadata() }
    return cursor
  }

  /// Makes the checksum right, after words of the metadata were changed.
  @inline(__always)
  fileprivate mutating func checkMetadata() {
    let isMoved = start != writer.pointee.block_start
    let first = start + (isMoved ? RecordLayout.bodyWord : Int(writer.pointee.block))
    // The first word has the key set's number, which is searched for meanwhile.
    checksum = mmlog_crc32c_first_last(
      isMoved ? writer.pointee.seed : writer.pointee.block_checksum, first, next - first)
  }

  /// Where the next word goes, in bytes from the record's first.
  private var place: Int { UnsafeRawPointer(next) - UnsafeRawPointer(start) }

  /// The second word of a key that is kept by its address.
  fileprivate static var isLong: UInt64 { 1 << 63 }

  private static func bytes(of key: mmlog_key) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(
      start: UnsafeRawPointer(bitPattern: UInt(key.first)), count: Int(key.second & ~isLong))
  }

  // MARK: - Pairs

  /// Puts the keys that are kept, with their types, before their values. From then on, they are
  /// written as they come. The checksum is left as it was.
  private mutating func insertKeys() {
    let count = Int(writer.pointee.key_count)
    writer.pointee.key_count = MMLOG_NO_KEYS
    var growth = 0
    var index = 0
    while index < count {
      growth += Self.words(of: mmlog_keys_of(writer)[index])
      index += 1
    }
    // A word more, as for every word that is appended.
    reserve((growth + 2) * wordSize)
    if writer.pointee.lost != 0 { return }
    start[Int(writer.pointee.block)] = UInt64(truncatingIfNeeded: count)
    var end = next
    next += growth
    // From the last one to the first: each value moves behind all keys that go before it.
    while index > 0 {
      index -= 1
      let key = mmlog_keys_of(writer)[index]
      let value = start + Int(truncatingIfNeeded: key.place >> 8) / wordSize
      (value + growth).update(from: value, count: end - value)
      end = value
      growth -= Self.words(of: key)
      Self.write(key, at: value + growth)
    }
  }

  /// How many words a key takes, with its type.
  private static func words(of key: mmlog_key) -> Int {
    let count = key.second & isLong == 0 ? Int(key.second >> 56) : Int(key.second & ~isLong)
    return 2 + paddedSize(count) / wordSize
  }

  private static func write(_ key: mmlog_key, at target: UnsafeMutablePointer<UInt64>) {
    let count = words(of: key)
    if key.second & isLong == 0 {
      target[0] = key.second >> 56
      if count > 2 { target[1] = key.first }
      if count > 3 { target[2] = key.second & 0xFF_FFFF_FFFF_FFFF }
    } else {
      let bytes = bytes(of: key)
      target[0] = UInt64(truncatingIfNeeded: bytes.count)
      if let source = bytes.baseAddress {
        target[count - 2] = 0
        UnsafeMutableRawPointer(target + 1).copyMemory(from: source, byteCount: bytes.count)
      }
    }
    target[count - 1] = key.place & 0xFF
  }
}

extension UnsafeMutablePointer<mmlog_writer> {
  /// Keeps a key beside the writer, until it is known whether the session has a key set of it.
  ///
  /// - Parameter place: Where its value goes, in bytes from the record's first.
  /// - Returns: False if nothing was done: the key may be gone before that, or there is no room.
  @inline(__always)
  func keep(_ key: TextWords, _ type: ValueType, _ place: Int) -> Bool {
    if let small = key.small { return keep(small, type, place) }
    guard key.isLiteral, let bytes = key.bytes else { return false }
    return keep(bytes: bytes, type, place)
  }

  @inline(__always)
  func keep(_ key: SmallText, _ type: ValueType, _ place: Int) -> Bool {
    let second = key.words.1 | UInt64(truncatingIfNeeded: key.count) << 56
    guard mmlog_keep_key(self, key.words.0, second, Self.word(type, place)) else { return false }
    mmlog_mix_key(self, key.words.0, second | UInt64(type.rawValue) << 60)
    return true
  }

  /// Keeps a key that is there as bytes, which have to stay where they are until the metadata ends.
  @inline(never)
  fileprivate func keep(
    bytes key: UnsafeRawBufferPointer, _ type: ValueType, _ place: Int
  ) -> Bool {
    let address = UInt64(UInt(bitPattern: key.baseAddress))
    let second = UInt64(key.count) | RecordCursor.isLong
    guard mmlog_keep_key(self, address, second, Self.word(type, place)) else { return false }
    mix(key, type)
    return true
  }

  @inline(__always)
  private static func word(_ type: ValueType, _ place: Int) -> UInt64 {
    UInt64(truncatingIfNeeded: place) &<< 8 | UInt64(type.rawValue)
  }

  /// Mixes a long key into the hash: other words than any small one, whose length is elsewhere.
  @inline(__always)
  private func mix(_ key: UnsafeRawBufferPointer, _ type: ValueType) {
    let end = UInt64(truncatingIfNeeded: key.count) | UInt64(type.rawValue) << 60
    guard var word = key.baseAddress else { return mmlog_mix_key(self, 0, end) }
    var left = key.count
    while left >= wordSize {
      mmlog_mix_key(self, word.loadUnaligned(as: UInt64.self), 0)
      word += wordSize
      left -= wordSize
    }
    mmlog_mix_key(self, RecordCursor.lastWord(word, left), end)
  }

  /// Begins the metadata of a record, and leaves the record here: see ``RecordCursor/putDown()``.
  @usableFromInline @inline(never) @_effects(releasenone)
  func beginMetadata(
    _ start: UnsafeMutablePointer<UInt64>, _ next: UnsafeMutablePointer<UInt64>,
    _ checksum: UInt64, _ flags: UInt8
  ) {
    pointee.block = UInt32(truncatingIfNeeded: next - start)
    pointee.block_start = start
    pointee.block_checksum = checksum
    mmlog_begin_keys(self)
    let flags = flags | RecordFlags.metadata.rawValue
    var record = RecordCursor(self, start, next, checksum: checksum, flags: flags)
    record.append(checked: 0)
    record.putDown()
  }

  /// Completes the metadata of the record that was put down.
  ///
  /// - Returns: The record's checksum.
  @usableFromInline @inline(never) @_effects(releasenone)
  func endMetadata() -> UInt64 {
    // The call that this one has interrupted may be changing its thread's cache.
    guard mmlog_is_usual(self), pointee.key_count != MMLOG_NO_KEYS,
      let start = pointee.block_start, start == pointee.record_start,
      let next = pointee.record_next, let number = KeySets.knownNumber(self)
    else { return endUnusualMetadata() }
    let block = start + Int(pointee.block)
    block.pointee = number &<< BlockLayout.keySetShift
    return mmlog_crc32c_first_last(
      pointee.block_checksum, block,
      Int(bitPattern: UInt(bitPattern: next) &- UInt(bitPattern: block)) / wordSize)
  }

  @inline(never)
  private func endUnusualMetadata() -> UInt64 {
    var cursor = RecordCursor(putDownIn: self)
    // Of one that is lost, nothing counts.
    if pointee.lost == 0, pointee.key_count != MMLOG_NO_KEYS, let number = KeySets.number(self) {
      cursor.start[Int(pointee.block)] = number &<< BlockLayout.keySetShift
      cursor.checkMetadata()
    } else {
      cursor = cursor.endingPairs()
      cursor.putDown()
    }
    return cursor.checksum
  }
}

/// Finds the key sets of records' metadata, and adds them. Async-signal-safe.
enum KeySets {
  @inline(__always)
  private static func hash(_ writer: UnsafeMutablePointer<mmlog_writer>) -> UInt64 {
    writer.pointee.key_hash | 1
  }

  /// The number of the key set of the keys that are kept, if it is in the thread's cache.
  @inline(__always)
  static func knownNumber(_ writer: UnsafeMutablePointer<mmlog_writer>) -> UInt64? {
    let slot = slot(writer)
    return slot.pointee.hash == hash(writer) ? slot.pointee.site : nil
  }

  @inline(__always)
  private static func slot(
    _ writer: UnsafeMutablePointer<mmlog_writer>
  ) -> UnsafeMutablePointer<mmlog_site_slot> {
    mmlog_sites_of(writer.pointee.thread)
      + Int(truncatingIfNeeded: hash(writer) >> UInt64(MMLOG_SITE_SHIFT))
  }

  /// The number of the key set of the keys that are kept, if the session has one.
  static func number(_ writer: UnsafeMutablePointer<mmlog_writer>) -> UInt64? {
    // The call that this one has interrupted may be changing the place.
    let isNested = writer.pointee.outer != nil
    if !isNested, let number = knownNumber(writer) { return number }
    guard let number = Session.of(writer.pointee.thread)?.sites.find(hash(writer)) else {
      return nil
    }
    if !isNested { slot(writer).pointee = mmlog_site_slot(hash: hash(writer), site: number) }
    return number
  }

  /// Adds the key set of a record whose last block is of pairs, for the records that come.
  static func learn(_ record: RecordCursor) {
    let writer = record.writer
    guard let session = Session.of(writer.pointee.thread) else { return }
    let errorNumber = CurrentProcess.errorNumber
    defer { CurrentProcess.errorNumber = errorNumber }
    let first = record.start + Int(writer.pointee.block)
    let block = UnsafeBufferPointer(start: first, count: record.next - first)
    _ = session.number(ofKeysOf: block, hash(writer), isNested: writer.pointee.outer != nil)
  }
}

extension Session {
  /// The number of the key set of a block of pairs, which is added to the dictionary if it is new.
  ///
  /// - Parameters:
  ///   - block: A block that this process has written.
  ///   - hash: Of names and types, in their order.
  ///   - isNested: Whether the thread may itself hold the lock.
  /// - Returns: nil if there is no room for it, or the lock is not to be had.
  func number(
    ofKeysOf block: UnsafeBufferPointer<UInt64>, _ hash: UInt64, isNested: Bool
  ) -> UInt64? {
    let count = Int(block[0] & BlockLayout.pairsMask)
    guard count <= UInt16.max else { return nil }
    return number(
      ofKind: RecordLayout.keySetKind, hash, isNested: isNested,
      leaving: { $0 / 2 }
    ) { entry, number in
      entry.keySet(id: number, keys: count)
      EncodedContext.forEachPair(of: block) { name, type, _ in entry.key(name, type: type) }
    }
  }
}
