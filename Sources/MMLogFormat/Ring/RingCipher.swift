package import MMLogCrypto
import MMLogSystem

/// Encrypts the records of a ring's segments, and decrypts them: it combines them by exclusive or
/// with *segment streams*, which are made of the ring's key.
///
/// Each use of a segment has a stream of its own, whose number the segment's header says. So no
/// part of a stream is used twice. This keeps records secret, and does not authenticate them:
/// frames of archives do that.
package struct RingCipher: Sendable {
  /// The ring's key, and its slot, to be kept in the ring.
  package let key: SlottedKey

  /// The number of the stream of a crash's report. Those of segments begin with 1.
  package static let crashStream: UInt64 = 0

  package init(_ key: SlottedKey) { self.key = key }

  /// What decrypts a ring: all slots have the same key, but one of them may be for others still.
  ///
  /// - Parameter slots: Those that can be read.
  package static func open(
    _ slots: [[UInt8]], with identities: [Identity]
  ) -> Result<RingCipher, FormatError> {
    var failure = FormatError.missingKey
    for slot in slots {
      do throws(CryptoError) {
        return .success(RingCipher(try SlottedKey(opening: slot, with: identities)))
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

  /// Of AES.
  fileprivate static let blockSize = 16

  /// Decrypts the records of a segment where they are, and makes their checksums anew. What is no
  /// record stays as it is.
  ///
  /// - Parameters:
  ///   - segment: A copy of the segment.
  ///   - number: The segment's stream.
  ///   - seed: Of the segment's generation.
  package func decrypt(
    _ segment: UnsafeMutableRawBufferPointer, stream number: UInt64, seed: UInt32
  ) throws(CryptoError) {
    let stream = SegmentStream(number, of: self)
    var scanner = RecordScanner(
      UnsafeRawBufferPointer(segment), from: SegmentLayout.size, seed: seed,
      scansBehindZeros: true)
    while let item = scanner.next() {
      guard case .record(let view, let offset) = item else { continue }
      let record = UnsafeMutableRawBufferPointer(
        rebasing: segment[offset..<offset + view.bytes.count])
      try stream.combine(with: record, behind: view.clearWords, at: offset)
      record.store(recordChecksum(UnsafeRawBufferPointer(record), seed: seed), 4)
    }
  }
}

/// A segment's stream, made part by part as records are decrypted, one after the other. For one
/// thread at a time.
package final class SegmentStream {
  package let number: UInt64
  private let cipher: RingCipher
  /// A part of the stream, and where that begins; nil: there is none yet.
  private var part: SecretMemory?
  private var start = 0

  private static let partSize = 8192

  package init(_ number: UInt64, of cipher: RingCipher) {
    (self.number, self.cipher) = (number, cipher)
  }

  /// Combines a record with the stream by exclusive or, which encrypts and decrypts.
  ///
  /// - Parameters:
  ///   - record: All words of the record.
  ///   - clearWords: How many of them are not encrypted.
  ///   - offset: Where it stands, or stood, from the segment's start; a multiple of 8.
  package func combine(
    with record: UnsafeMutableRawBufferPointer, behind clearWords: Int, at offset: Int
  ) throws(CryptoError) {
    var place = clearWords * wordSize
    while place < record.count {
      let part = try part(at: offset + place)
      let end = min(record.count, place + part.count)
      for word in stride(from: place, to: end, by: wordSize) {
        let combined =
          record.load(fromByteOffset: word, as: UInt64.self)
          ^ part.load(fromByteOffset: word - place, as: UInt64.self)
        record.storeBytes(of: combined, toByteOffset: word, as: UInt64.self)
      }
      place = end
    }
  }

  /// The stream from an offset on, as far as that is made.
  private func part(at offset: Int) throws(CryptoError) -> UnsafeRawBufferPointer {
    if part == nil || offset < start || offset >= start + Self.partSize {
      try makePart(at: offset)
    }
    guard let part else { throw .system("there is no memory for a stream") }
    return UnsafeRawBufferPointer(
      rebasing: UnsafeRawBufferPointer(part.bytes)[offset - start..<Self.partSize])
  }

  private func makePart(at offset: Int) throws(CryptoError) {
    if part == nil {
      do throws(SystemError) { part = try SecretMemory(count: Self.partSize) } catch {
        throw .system("there is no memory for a stream: \(error)")
      }
    }
    guard let part else { return }
    start = offset / Self.partSize * Self.partSize
    // Should that fail, the part is not to be taken for the one that was there before.
    let wanted = start
    start = .min
    try cipher.fill(
      UnsafeMutableRawBufferPointer(rebasing: part.bytes[..<Self.partSize]), ofStream: number,
      from: wanted)
    start = wanted
  }
}
