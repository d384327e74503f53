package import MMLogCrypto
import MMLogSystem

/// Encrypts and decrypts the records of a ring's segments. It combines them by exclusive or with
/// *segment streams*, which are made of the ring's key.
///
/// Each use of a segment has a stream of its own, whose number the segment's header says. So no
/// part of a stream is used twice. This keeps records secret, and does not authenticate them:
/// frames of archives do that.
package struct RingCipher: Sendable {
  /// The ring's key, and the key slot that the ring keeps.
  package let key: SlottedKey
  /// Memory for the parts of streams.
  fileprivate let parts = PartMemory()

  /// The number of the stream of crash reports. The numbers of segments' streams begin with 1.
  package static let crashStream: UInt64 = 0

  package init(_ key: SlottedKey) { self.key = key }

  /// Makes the cipher that decrypts a ring. All slots have the same key, but one of them may still
  /// be for other recipients.
  ///
  /// - Parameter slots: Those that can be read.
  package static func open(
    _ slots: [RingKeySlot], with identities: [Identity]
  ) -> Result<RingCipher, FormatError> {
    var failure = FormatError.missingKey
    for slot in slots {
      do throws(CryptoError) {
        return .success(RingCipher(try SlottedKey(opening: slot.slot, with: identities)))
      } catch {
        failure = .encrypted(error)
      }
    }
    return .failure(failure)
  }

  /// Makes a part of a stream.
  ///
  /// - Parameters:
  ///   - number: The stream's.
  ///   - offset: Where the part begins, from the segment's start; a multiple of 16.
  package func fill(
    _ output: UnsafeMutableRawBufferPointer, ofStream number: UInt64, from offset: Int = 0
  ) throws(CryptoError) {
    var counter: [UInt8] = []
    for word in [number, UInt64(offset) / UInt64(Self.blockSize)] {
      for shift in stride(from: 56, through: 0, by: -8) {
        counter.append(UInt8(truncatingIfNeeded: word >> UInt64(shift)))
      }
    }
    try Cryptography.fillStream(output, key: key.key, counter: counter)
  }

  /// Combines bytes with a part of a stream by exclusive or, which encrypts and decrypts.
  ///
  /// - Parameters:
  ///   - start: The first byte that is combined.
  ///   - number: The stream's.
  ///   - offset: Where the part begins, from the stream's start; a multiple of 16.
  func combine(
    _ bytes: inout [UInt8], behind start: Int, withStream number: UInt64, from offset: Int
  ) throws(CryptoError) {
    // This memory is erased afterwards: whoever has the stream can read any report.
    let memory = try parts.take()
    defer { parts.give(back: memory) }
    let stream = UnsafeMutableRawBufferPointer(rebasing: memory.bytes[..<bytes.count])
    try fill(stream, ofStream: number, from: offset)
    for place in start..<bytes.count { bytes[place] ^= stream[place] }
  }

  /// The block size of AES, in bytes.
  fileprivate static let blockSize = 16

  /// Decrypts the records of a segment in place, and makes their checksums anew. Bytes that are no
  /// record stay as they are.
  ///
  /// - Parameters:
  ///   - segment: A copy of the segment.
  ///   - number: The segment's stream.
  ///   - seed: The seed of the segment's generation.
  package func decrypt(
    _ segment: UnsafeMutableRawBufferPointer, stream number: UInt64, seed: UInt32
  ) throws(CryptoError) {
    let stream = SegmentStream(number, of: self)
    var scanner = RecordScanner(
      UnsafeRawBufferPointer(segment), from: SegmentLayout.size, seed: seed, zeros: .mayBeLost)
    while let item = scanner.next() {
      guard case .record(let view, let offset) = item else { continue }
      let record = UnsafeMutableRawBufferPointer(
        rebasing: segment[offset..<offset + view.bytes.count])
      try stream.combine(with: record, behind: view.clearWords, at: offset)
      record.store(recordChecksum(UnsafeRawBufferPointer(record), seed: seed), 4)
    }
  }
}

/// Shows records of encrypted segments as they were logged. For one thread at a time.
package final class RecordDecryptor {
  private let copy = WordBuffer()

  package init() {}

  /// A record as it was logged, valid until the next one is asked for; nil if libcrypto refuses.
  ///
  /// - Parameter offset: Where the record stands, from the segment's start.
  package func clear(
    _ record: RecordView, at offset: Int, _ content: CollectedSegment.Content
  ) -> RecordView? {
    guard case .encrypted(let stream) = content else { return record }
    copy.grow(for: record.bytes.count / wordSize)
    let bytes = UnsafeMutableRawBufferPointer(start: copy.base, count: record.bytes.count)
    bytes.copyMemory(from: record.bytes)
    let isDone: Void? = try? stream.combine(with: bytes, behind: record.clearWords, at: offset)
    return isDone == nil ? nil : RecordView(row: UnsafeRawBufferPointer(bytes))
  }
}

/// A segment's stream, made part by part as records are decrypted, one after the other. For one
/// thread at a time.
package final class SegmentStream {
  package private(set) var number: UInt64
  /// How much is made at once, at most.
  static let partSize = PartMemory.size
  private let cipher: RingCipher
  /// The memory of a part; nil before the first.
  private var memory: SecretMemory?
  /// The part that is made. It is behind a pointer, because the runtime would check each access to
  /// a variable for exclusivity.
  private let part: UnsafeMutablePointer<Part>

  fileprivate struct Part {
    var bytes = UnsafeRawBufferPointer(start: nil, count: 0)
    /// Where it begins, from the segment's start.
    var start = 0
  }

  package init(_ number: UInt64, of cipher: RingCipher) {
    (self.number, self.cipher) = (number, cipher)
    part = .allocate(capacity: 1)
    part.initialize(to: Part())
  }

  deinit {
    freePart()
    part.deallocate()
  }

  /// Gives the memory of the part to other streams, when nothing is to be combined for now.
  func freePart() {
    part.pointee = Part()
    if let memory { cipher.parts.give(back: memory) }
    memory = nil
  }

  /// Goes on with another stream, in the same memory.
  func move(to number: UInt64) { (self.number, part.pointee) = (number, Part()) }

  /// Makes what is wanted next, unless it is there. For records that do not follow one another:
  /// otherwise a whole part would be made for each.
  ///
  /// - Parameters:
  ///   - needed: The range that has to be there, from the segment's start.
  ///   - wanted: The range to make if it is not there, as far as there is room; begins where
  ///     `needed` does.
  func prepare(
    _ needed: Range<Int>, _ wanted: @autoclosure () -> Range<Int>
  ) throws(CryptoError) {
    let made = part.pointee
    if needed.lowerBound >= made.start, needed.upperBound <= made.start + made.bytes.count {
      return
    }
    let start = needed.lowerBound / RingCipher.blockSize * RingCipher.blockSize
    _ = try makePart(from: start, count: wanted().upperBound - start)
  }

  /// The same stream for a loop, without reference counting. Valid as long as this object.
  var unowned: UnownedStream { UnownedStream(part: part, stream: .passUnretained(self)) }

  /// Combines a record with the stream by exclusive or, which encrypts and decrypts.
  ///
  /// - Parameters:
  ///   - record: All words of the record.
  ///   - clearWords: How many of them are not encrypted.
  ///   - offset: Where it stands, or stood, from the segment's start; a multiple of 8.
  package func combine(
    with record: UnsafeMutableRawBufferPointer, behind clearWords: Int, at offset: Int
  ) throws(CryptoError) {
    guard let base = record.baseAddress else { return }
    try unowned.combine(
      base, to: base, from: clearWords * wordSize, count: record.count, at: offset)
  }

  @inline(never)
  fileprivate func makePart(at offset: Int) throws(CryptoError) -> UnsafeRawBufferPointer {
    let start = offset / Self.partSize * Self.partSize
    let bytes = try makePart(from: start, count: Self.partSize)
    return bytes.slice(offset - start, bytes.count - (offset - start))
  }

  /// - Parameter start: A multiple of 16.
  private func makePart(from start: Int, count: Int) throws(CryptoError) -> UnsafeRawBufferPointer {
    // If this fails, the memory must not pass for the part that was there before.
    part.pointee = Part()
    let memory = try madeMemory()
    let bytes = UnsafeMutableRawBufferPointer(
      rebasing: memory.bytes[..<min(count, Self.partSize)])
    try cipher.fill(bytes, ofStream: number, from: start)
    part.pointee = Part(bytes: UnsafeRawBufferPointer(bytes), start: start)
    return UnsafeRawBufferPointer(bytes)
  }

  private func madeMemory() throws(CryptoError) -> SecretMemory {
    if let memory { return memory }
    let taken = try cipher.parts.take()
    memory = taken
    return taken
  }
}

/// A ``SegmentStream`` that somebody else's reference keeps alive.
struct UnownedStream {
  fileprivate let part: UnsafeMutablePointer<SegmentStream.Part>
  fileprivate let stream: Unmanaged<SegmentStream>

  /// Combines a record with the stream while it copies the record to `target`, which may be the
  /// record's own place.
  ///
  /// - Parameters:
  ///   - record: All words of the record.
  ///   - start: Where in the record to begin, in bytes: words before are left out.
  ///   - count: How many bytes the record has.
  ///   - offset: Where it stands, or stood, from the segment's start; a multiple of 8.
  @inline(__always)
  func combine(
    _ record: UnsafeRawPointer, to target: UnsafeMutableRawPointer, from start: Int, count: Int,
    at offset: Int
  ) throws(CryptoError) {
    var place = start
    while place < count {
      let part = try part(at: offset &+ place)
      guard var word = part.baseAddress else { throw .library("a part of a stream") }
      let end = min(count, place &+ part.count)
      typealias Words = SIMD4<UInt64>
      while end &- place >= 4 &* wordSize {
        let combined =
          record.loadUnaligned(fromByteOffset: place, as: Words.self)
          ^ word.loadUnaligned(as: Words.self)
        target.storeBytes(of: combined, toByteOffset: place, as: Words.self)
        place &+= 4 &* wordSize
        word += 4 &* wordSize
      }
      while place < end {
        let combined =
          record.load(fromByteOffset: place, as: UInt64.self) ^ word.load(as: UInt64.self)
        target.storeBytes(of: combined, toByteOffset: place, as: UInt64.self)
        place &+= wordSize
        word += wordSize
      }
    }
  }

  /// The stream from an offset on, as far as the part is made.
  @inline(__always)
  private func part(at offset: Int) throws(CryptoError) -> UnsafeRawBufferPointer {
    let made = part.pointee
    if offset >= made.start, offset < made.start &+ made.bytes.count {
      return made.bytes.slice(offset &- made.start, made.bytes.count &- (offset &- made.start))
    }
    return try stream.takeUnretainedValue().makePart(at: offset)
  }
}

/// Memory for parts of streams. Some of it is kept, because it takes several system calls to get
/// and to lock such memory.
///
/// Proof of `@unchecked Sendable`: what is kept is touched under the lock alone.
private final class PartMemory: @unchecked Sendable {
  /// The size of a part, in bytes.
  static let size = 32 << 10
  private static let mostKept = 8

  private let lock = ForkSafeMutex()
  private var kept: [SecretMemory] = []

  func take() throws(CryptoError) -> SecretMemory {
    lock.lock()
    let memory = kept.popLast()
    lock.unlock()
    if let memory { return memory }
    do throws(SystemError) {
      return try SecretMemory(count: Self.size)
    } catch {
      throw .system("there is no memory for a stream: \(error)")
    }
  }

  /// Takes memory back, and erases what is in it.
  func give(back memory: SecretMemory) {
    SecretMemory.erase(memory.bytes)
    lock.lock()
    defer { lock.unlock() }
    if kept.count < Self.mostKept { kept.append(memory) }
  }
}
