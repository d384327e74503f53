import CMMLogCore
public import CMMLogWriter
public import MMLogFormat
import MMLogSystem

// A record's metadata is written by its values, while their keys are kept beside the writer. If the
// session has a key set of these keys, its number is entered at the end, and that is all. Else the
// keys are put between the values, and become a key set for the records that come. Everything here
// is async-signal-safe.
extension RecordCursor {
  /// Begins a record's metadata: pairs have to follow, each by ``append(key:_:)`` and what follows
  /// a type, and then ``endingMetadata()``.
  @inlinable @inline(__always)
  package mutating func beginMetadata() {
    flags |= RecordFlags.metadata.rawValue
    writer.pointee.block = UInt32(truncatingIfNeeded: next - start)
    writer.pointee.block_start = start
    writer.pointee.block_checksum = checksum
    mmlog_begin_keys(writer)
    append(checked: 0)
  }

  /// Leaves the record with its writer, while its metadata is written: where a cursor does not fit
  /// into registers, that is the shorter way. The checksum is left out.
  @inlinable @inline(__always)
  package func putDown() {
    writer.pointee.record_start = start
    writer.pointee.record_next = next
    writer.pointee.record_flags = UInt32(flags)
  }

  /// The record that was put down, as it is now.
  package var pickedUp: RecordCursor { RecordCursor(putDownIn: writer) }

  /// The record that was put down.
  @inline(__always)
  init(putDownIn writer: UnsafeMutablePointer<mmlog_writer>) {
    let start = writer.pointee.record_start.unsafelyUnwrapped
    let next = writer.pointee.record_next.unsafelyUnwrapped
    let flags = UInt8(truncatingIfNeeded: writer.pointee.record_flags)
    self.init(writer, start, next, checksum: 0, flags: flags)
  }

  /// Adds a key and the type of its value.
  @inline(__always)
  package mutating func append(key: String, _ type: ValueType) {
    if let small = SmallText(key), keep(small, type) { return }
    self = appending(longKey: key, type)
  }

  @inline(never)
  private func appending(longKey key: String, _ type: ValueType) -> RecordCursor {
    // Where others are when the metadata ends, nobody knows.
    let isLiteral = TextWords(key).isLiteral
    var (cursor, key) = (self, key)
    key.withUTF8 { key in
      let key = UnsafeRawBufferPointer(key)
      if isLiteral { cursor.append(key: key, type) } else { cursor.appendPair(key: key, type) }
    }
    return cursor
  }

  /// Adds a key that is there as bytes, and the type of its value. The bytes have to stay where they
  /// are until the metadata ends.
  package mutating func append(key: UnsafeRawBufferPointer, _ type: ValueType) {
    let address = UInt64(UInt(bitPattern: key.baseAddress))
    if keep(address, UInt64(key.count) | Self.isLong, type) { return mix(key, type) }
    appendPair(key: key, type)
  }

  /// The same where keys are not to be kept.
  private mutating func appendPair(key: UnsafeRawBufferPointer, _ type: ValueType) {
    if writer.pointee.key_count != MMLOG_NO_KEYS { insertKeys() }
    append(key, reserving: 0)
    append(checked: UInt64(type.rawValue))
    if writer.pointee.lost == 0 { start[Int(writer.pointee.block)] += 1 }
  }

  @inline(__always)
  func keep(_ key: SmallText, _ type: ValueType) -> Bool {
    let second = key.words.1 | UInt64(truncatingIfNeeded: key.count) << 56
    guard keep(key.words.0, second, type) else { return false }
    mmlog_mix_key(writer, key.words.0, second | UInt64(type.rawValue) << 60)
    return true
  }

  /// Whether it is kept: as two words of which the second says what they are.
  @inline(__always)
  private func keep(_ first: UInt64, _ second: UInt64, _ type: ValueType) -> Bool {
    let count = writer.pointee.key_count
    guard count < MMLOG_KEYS else { return false }
    let place = UnsafeRawPointer(next) - UnsafeRawPointer(start)
    let last = UInt64(truncatingIfNeeded: place) &<< 8 | UInt64(type.rawValue)
    mmlog_keys_of(writer)[Int(count)] = mmlog_key(first: first, second: second, place: last)
    writer.pointee.key_count = count + 1
    return true
  }

  /// The second word of a key that is kept by its address.
  private static var isLong: UInt64 { 1 << 63 }

  /// The record with its metadata complete.
  package func endingMetadata() -> RecordCursor {
    putDown()
    return writer.endMetadata()
  }

  /// The same where there is no key set.
  @inline(never)
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

  /// Mixes a long key into the hash: other words than any small one, whose length is elsewhere.
  private func mix(_ key: UnsafeRawBufferPointer, _ type: ValueType) {
    let end = UInt64(truncatingIfNeeded: key.count) | UInt64(type.rawValue) << 60
    guard var word = key.baseAddress else { return mmlog_mix_key(writer, 0, end) }
    var left = key.count
    while left >= wordSize {
      mmlog_mix_key(writer, word.loadUnaligned(as: UInt64.self), 0)
      word += wordSize
      left -= wordSize
    }
    mmlog_mix_key(writer, Self.lastWord(word, left), end)
  }

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
  /// The record that was put down, with its metadata complete.
  @usableFromInline @inline(never)
  func endMetadata() -> RecordCursor {
    var cursor = RecordCursor(putDownIn: self)
    // Of one that is lost, nothing counts.
    guard pointee.lost == 0, pointee.key_count != MMLOG_NO_KEYS,
      let number = KeySets.number(self)
    else { return cursor.endingPairs() }
    cursor.start[Int(pointee.block)] = number &<< BlockLayout.keySetShift
    cursor.checkMetadata()
    return cursor
  }
}

/// Finds the key sets of records' metadata, and adds them. Async-signal-safe.
enum KeySets {
  @inline(__always)
  private static func hash(_ writer: UnsafeMutablePointer<mmlog_writer>) -> UInt64 {
    writer.pointee.key_hash | 1
  }

  /// The number of the key set of the keys that are kept, if the session has one.
  @inline(__always)
  static func number(_ writer: UnsafeMutablePointer<mmlog_writer>) -> UInt64? {
    let hash = hash(writer)
    let slot =
      mmlog_sites_of(writer.pointee.thread)
      + Int(truncatingIfNeeded: hash >> UInt64(MMLOG_SITE_SHIFT))
    // The call that this one has interrupted may be changing the place.
    let isNested = writer.pointee.outer != nil
    if !isNested, slot.pointee.hash == hash { return slot.pointee.site }
    return find(hash, writer, isNested ? nil : slot)
  }

  @inline(never)
  private static func find(
    _ hash: UInt64, _ writer: UnsafeMutablePointer<mmlog_writer>,
    _ slot: UnsafeMutablePointer<mmlog_site_slot>?
  ) -> UInt64? {
    guard let number = Session.of(writer.pointee.thread)?.sites.find(hash) else { return nil }
    if let slot { slot.pointee = mmlog_site_slot(hash: hash, site: number) }
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
