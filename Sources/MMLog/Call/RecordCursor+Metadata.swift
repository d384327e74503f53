import CMMLogCore
public import CMMLogWriter
import MMLogFormat
import MMLogSystem

// A record's metadata is written value by value, while the keys are kept beside the writer. If the
// session has a key set of these keys, the record gets the key set's number at the end, and no
// keys. If not, the keys are put between the values, and become a key set for later records.
// Everything here is async-signal-safe.
extension RecordCursor {
  /// Begins a record's metadata. The pairs have to follow, each by ``append(key:_:)`` and then what
  /// follows the type; and at the end, ``endingMetadata()``.
  package mutating func beginMetadata() {
    writer.beginMetadata(next, checksum)
    self = pickedUp
  }

  /// Leaves the record with its writer while its metadata is written: the functions that add pairs
  /// need their registers for other things. The writer does not get the checksum.
  @inline(__always)
  package func putDown() {
    writer.pointee.record_next = next
    writer.pointee.values_are_checked = 0
  }

  /// The record that was put down, as it is now.
  package var pickedUp: RecordCursor { RecordCursor(putDownIn: writer) }

  /// The record that was put down.
  ///
  /// - Parameter checksum: Zero if it is computed anew when the metadata ends.
  @inlinable @inline(__always)
  init(putDownIn writer: UnsafeMutablePointer<mmlog_writer>, checksum: UInt64 = 0) {
    self.writer = writer
    start = writer.place
    next = writer.pointee.record_next.unsafelyUnwrapped
    self.checksum = checksum
  }

  /// Adds a key and the type of its value.
  @inline(__always)
  package mutating func append(key: String, _ type: ValueType) {
    if !writer.keep(TextWords(key), type) { self = appending(longKey: key, type) }
  }

  @inline(never)
  private func appending(longKey key: String, _ type: ValueType) -> RecordCursor {
    // Any other key may have moved by the end of the metadata.
    var (cursor, key) = (self, key)
    key.withUTF8 { cursor.appendPair(key: UnsafeRawBufferPointer($0), type) }
    return cursor
  }

  /// Adds a key that is given as bytes, and the type of its value. The bytes have to stay where
  /// they are until the metadata ends.
  package mutating func append(key: UnsafeRawBufferPointer, _ type: ValueType) {
    if !writer.keep(bytes: key, type) { appendPair(key: key, type) }
  }

  /// As ``append(key:_:)``, without keeping the key.
  private mutating func appendPair(key: UnsafeRawBufferPointer, _ type: ValueType) {
    if writer.pointee.keys_size != MMLOG_NO_KEYS { insertKeys() }
    append(key, reserving: 0)
    append(checked: UInt64(type.rawValue))
    if writer.pointee.lost == 0 { start[Int(writer.pointee.block)] += 1 }
  }

  /// The record with its metadata complete.
  package func endingMetadata() -> RecordCursor {
    putDown()
    return RecordCursor(putDownIn: writer, checksum: writer.endUnusualMetadata())
  }

  /// As ``endingMetadata()``, where there is no key set.
  fileprivate func endingPairs() -> RecordCursor {
    var cursor = self
    if writer.pointee.keys_size != MMLOG_NO_KEYS {
      cursor.insertKeys()
      if writer.pointee.lost == 0 { KeySets.learn(cursor) }
    }
    if writer.pointee.lost == 0 { cursor.checkMetadata() }
    return cursor
  }

  /// Computes the checksum anew after words of the metadata were changed.
  @inline(__always)
  fileprivate mutating func checkMetadata() {
    let isMoved = start != writer.pointee.block_start
    let first = start + (isMoved ? RecordLayout.bodyWord : Int(writer.pointee.block))
    let before = isMoved ? writer.pointee.seed : writer.pointee.block_checksum
    checksum = UInt64(
      mmlog_crc32c_words(UInt32(truncatingIfNeeded: before), first, next - first))
  }

  // MARK: - Pairs

  /// Puts the kept keys, with their types, before their values. Each value has to be complete. From
  /// then on, keys are written as they come. Leaves the checksum as it was.
  private mutating func insertKeys() {
    let count = Int(writer.pointee.keys_size) / MemoryLayout<mmlog_key>.stride
    writer.pointee.keys_size = MMLOG_NO_KEYS
    var growth = 0
    for index in 0..<count { growth += KeptKey(mmlog_keys_of(writer)[index]).wordCount }
    // A word more, as for every word that is appended.
    reserve((growth + 2) * wordSize)
    if writer.pointee.lost != 0 { return }
    let block = start + Int(writer.pointee.block)
    block.pointee = UInt64(truncatingIfNeeded: count)
    // All values move behind the room for all keys, and then each back to its own key.
    let values = UnsafeBufferPointer(start: block + 1 + growth, count: next - block - 1)
    (block + 1 + growth).update(from: block + 1, count: values.count)
    next += growth
    var target = block + 1
    var reader = WordReader(UnsafeRawBufferPointer(values))
    for index in 0..<count {
      let key = KeptKey(mmlog_keys_of(writer)[index])
      key.write(at: target)
      target += key.wordCount
      let value = reader.offset / wordSize
      reader.skipValue(of: key.type)
      let words = UnsafeBufferPointer(rebasing: values[value..<reader.offset / wordSize])
      guard let source = words.baseAddress else { continue }
      target.update(from: source, count: words.count)
      target += words.count
    }
  }
}

extension WordReader {
  /// Passes over a value that this process has written.
  fileprivate mutating func skipValue(of type: UInt8) {
    do throws(FormatError) {
      try skipElements(of: view(ofArgumentType: type))
    } catch {
      assertionFailure("a value of this process cannot be read: \(error)")
    }
  }
}

/// A key of metadata that is kept beside its writer.
private struct KeptKey {
  private let words: mmlog_key

  init(_ words: mmlog_key) { self.words = words }

  /// A key that is a small text.
  @inline(__always)
  init(_ text: SmallText, _ type: ValueType) {
    let count = UInt64(truncatingIfNeeded: text.count)
    self.init(text.words.0, text.words.1 | count << Self.smallCountShift, type)
  }

  /// A key whose bytes stay where they are.
  @inline(__always)
  init(_ bytes: UnsafeRawBufferPointer, _ type: ValueType) {
    let address = UInt64(UInt(bitPattern: bytes.baseAddress))
    self.init(bytes.isEmpty ? 0 : address, UInt64(truncatingIfNeeded: bytes.count), type)
  }

  @inline(__always)
  private init(_ first: UInt64, _ second: UInt64, _ type: ValueType) {
    words = mmlog_key(first: first, second: second | UInt64(type.rawValue) << Self.typeShift)
  }

  private static var smallCountShift: UInt64 { 56 }
  private static var typeShift: UInt64 { 60 }

  var first: UInt64 { words.first }
  var second: UInt64 { words.second }
  var type: UInt8 { UInt8(truncatingIfNeeded: second >> Self.typeShift) }

  private var smallCount: Int { Int(second >> Self.smallCountShift & 0xF) }
  /// The second word of a small text, or the count of bytes.
  private var low: UInt64 { second & (1 << Self.smallCountShift - 1) }
  /// In a small text without bytes, that word is zero.
  private var isSmall: Bool { smallCount > 0 || low == 0 }
  private var count: Int { isSmall ? smallCount : Int(low) }

  /// How many words the key takes in a record, with its type.
  var wordCount: Int { 2 + paddedSize(count) / wordSize }

  /// Writes the key as it stands in a record, with its type.
  func write(at target: UnsafeMutablePointer<UInt64>) {
    let last = wordCount - 1
    target[0] = UInt64(truncatingIfNeeded: count)
    if isSmall {
      if last > 1 { target[1] = first }
      if last > 2 { target[2] = low }
    } else if let source = UnsafeRawPointer(bitPattern: UInt(first)) {
      target[last - 1] = 0
      UnsafeMutableRawPointer(target + 1).copyMemory(from: source, byteCount: count)
    }
    target[last] = UInt64(type)
  }
}

extension UnsafeMutablePointer<mmlog_writer> {
  /// Keeps a key beside the writer until it is known whether the session has a key set with it. The
  /// key's value has to follow.
  ///
  /// - Returns: False if nothing was done, because the key may be gone before that, or there is no
  ///   room.
  @inline(__always)
  func keep(_ key: TextWords, _ type: ValueType) -> Bool {
    if let small = key.small { return keep(small, type) }
    guard key.isLiteral, let bytes = key.bytes else { return false }
    return keep(bytes: bytes, type)
  }

  @inline(__always)
  func keep(_ text: SmallText, _ type: ValueType) -> Bool {
    let key = KeptKey(text, type)
    guard mmlog_keep_key(self, key.first, key.second) else { return false }
    mmlog_mix_key(self, key.first, key.second)
    return true
  }

  /// Keeps a key that is given as bytes, which have to stay where they are until the metadata ends.
  @inline(never)
  fileprivate func keep(bytes: UnsafeRawBufferPointer, _ type: ValueType) -> Bool {
    let key = KeptKey(bytes, type)
    guard mmlog_keep_key(self, key.first, key.second) else { return false }
    // The hash differs from that of any small text, whose length is in other bits.
    guard var word = bytes.baseAddress else { mmlog_mix_key(self, 0, key.second); return true }
    var (left, hash) = (bytes.count, UInt64(0))
    while left >= wordSize {
      hash = mmlog_mix_text(hash, word.loadUnaligned(as: UInt64.self), 0)
      word += wordSize
      left -= wordSize
    }
    // Once for each key, however long: there are as many places as bits of a rotation.
    mmlog_mix_key(self, hash ^ RecordCursor.lastWord(word, left), key.second)
    return true
  }

  /// Begins the metadata of a record, and leaves the record here: see ``RecordCursor/putDown()``.
  @usableFromInline @inline(never) @_effects(releasenone)
  func beginMetadata(_ next: UnsafeMutablePointer<UInt64>, _ checksum: UInt64) {
    pointee.block = UInt64(truncatingIfNeeded: Self.words(from: place, to: next))
    pointee.block_start = place
    pointee.block_checksum = checksum
    mmlog_begin_keys(self)
    add(.metadata)
    // Only for a usual writer: `endMetadata` looks into the thread's cache, which an interrupted
    // call may be changing.
    guard mmlog_is_usual(self),
      UnsafeMutableRawPointer(next + 2) <= UnsafeMutableRawPointer(pointee.limit)
    else { return beginUnusualMetadata(next, checksum) }
    next.pointee = 0
    RecordCursor(self, next + 1, checksum: checksum).putDown()
    pointee.values_are_checked = 1
  }

  @inline(never)
  private func beginUnusualMetadata(_ next: UnsafeMutablePointer<UInt64>, _ checksum: UInt64) {
    var record = RecordCursor(self, next, checksum: checksum)
    record.append(checked: 0)
    record.putDown()
  }

  /// Completes the metadata of the record that was put down.
  ///
  /// - Parameter check: The check of the values, from 0, if all functions that added values have
  ///   passed it on.
  /// - Returns: The record's checksum.
  @usableFromInline @inline(never) @_effects(releasenone)
  func endMetadata(_ check: UInt64) -> UInt64 {
    guard pointee.values_are_checked != 0, let number = KeySets.knownNumber(self) else {
      return endUnusualMetadata()
    }
    let block = pointee.block_start.unsafelyUnwrapped + Int(truncatingIfNeeded: pointee.block)
    let next = pointee.record_next.unsafelyUnwrapped
    let skip = mmlog_crc32c_skip_of(Self.words(from: block, to: next) &- 1)
    if skip == 0 { return endUnusualMetadata() }
    // The check of the values does not wait for the word before them, which is known last.
    let first = number &<< BlockLayout.keySetShift
    block.pointee = first
    return mmlog_crc32c_skip(mmlog_crc32c_word(pointee.block_checksum, first), skip)
      ^ check
  }

  /// The number of words. Unlike a difference of pointers, this does not handle negative numbers.
  @inline(__always)
  private static func words(
    from start: UnsafeMutablePointer<UInt64>, to end: UnsafeMutablePointer<UInt64>
  ) -> Int {
    Int((UInt(bitPattern: end) &- UInt(bitPattern: start)) / UInt(wordSize))
  }

  /// As ``endMetadata(_:)``, if no check was passed on, or the key set is not at hand.
  @inline(never)
  fileprivate func endUnusualMetadata() -> UInt64 {
    var cursor = RecordCursor(putDownIn: self)
    // Nothing of a lost record counts.
    if pointee.lost == 0, pointee.keys_size != MMLOG_NO_KEYS, let number = KeySets.number(self) {
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

  /// The number of the key set of the kept keys, if it is in the thread's cache.
  @inline(__always)
  static func knownNumber(_ writer: UnsafeMutablePointer<mmlog_writer>) -> UInt64? {
    let slot = slot(writer)
    return slot.pointee.hash == hash(writer) ? slot.pointee.site : nil
  }

  @inline(__always)
  private static func slot(
    _ writer: UnsafeMutablePointer<mmlog_writer>
  ) -> UnsafeMutablePointer<mmlog_site_slot> {
    mmlog_site_slot_of(mmlog_sites_of(writer.pointee.thread), hash(writer))
  }

  /// The number of the key set of the kept keys, if the session has one.
  static func number(_ writer: UnsafeMutablePointer<mmlog_writer>) -> UInt64? {
    // An interrupted call may be changing the slot.
    let isNested = writer.pointee.outer != nil
    if !isNested, let number = knownNumber(writer) { return number }
    guard let number = Session.of(writer.pointee.thread)?.sites.find(hash(writer)) else {
      return nil
    }
    if !isNested { slot(writer).pointee = mmlog_site_slot(hash: hash(writer), site: number) }
    return number
  }

  /// Adds the key set of a record whose last block is of pairs, for later records.
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
  /// The number of the key set of a block of pairs. Adds the key set to the dictionary if it is
  /// new.
  ///
  /// - Parameters:
  ///   - block: A block that this process has written.
  ///   - hash: The hash of names and types, in their order.
  ///   - isNested: Whether the thread itself may hold the lock.
  /// - Returns: nil if there is no room for the key set, or the lock cannot be had.
  func number(
    ofKeysOf block: UnsafeBufferPointer<UInt64>, _ hash: UInt64, isNested: Bool
  ) -> UInt64? {
    let count = Int(block[0] & BlockLayout.pairsMask)
    guard count <= KeySet.maximumKeys else { return nil }
    return number(
      ofKind: RecordLayout.keySetKind, hash, isNested: isNested,
      leaving: { $0 / 2 }
    ) { entry, number in
      entry.keySet(id: number, keys: count)
      EncodedContext.forEachPair(of: block) { name, type, _ in entry.key(name, type: type) }
    }
  }
}
