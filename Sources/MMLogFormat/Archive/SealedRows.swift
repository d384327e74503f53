/// Rows as they stood in an encrypted ring (FORMAT.md, 13). A recovery makes them, because it does
/// not have the ring's key.
///
/// Before each row, a word says which stream the row is encrypted with, and where in its segment
/// the row stood. A reader that has the ring's key makes the usual rows from them.
package enum SealedRows {
  /// Where a row stood, as a word.
  static func place(stream: Int, offset: Int) -> UInt64 {
    UInt64(UInt32(truncatingIfNeeded: stream)) | UInt64(offset) << 32
  }

  struct Row {
    /// The index of its stream.
    let stream: Int
    let offset: Int
    /// Where the row is in the payload in rows.
    let place: Int
    let count: Int
    let clearWords: Int

    /// The part of the stream that encrypts the row.
    var encrypted: Range<Int> { offset + clearWords * wordSize..<offset + count }
  }

  /// The maximum number of bytes of a stream that are made only to be passed over: beginning anew
  /// behind them costs as much.
  private static let largestGap = 4096

  /// The payload in rows.
  ///
  /// - Parameter size: The size of the payload in rows.
  /// - Throws: ``FormatError``, ``CryptoError``.
  package static func decrypt(
    _ payload: UnsafeRawBufferPointer, size: Int, with cipher: RingCipher
  ) throws -> [UInt8] {
    var reader = WordReader(payload)
    let counts = try reader.word()
    let threadCount = Int(counts & 0xFFFF_FFFF)
    let streamCount = Int(counts >> 32)
    guard threadCount <= reader.remaining / FrameLayout.threadSize else {
      throw FormatError.truncated
    }
    let threads = try reader.take(threadCount * FrameLayout.threadSize)
    guard streamCount <= reader.remaining / wordSize else { throw FormatError.truncated }
    let streams = try reader.take(streamCount * wordSize)
    var output: [UInt8] = []
    output.reserveCapacity(min(size, payload.count))
    withUnsafeBytes(of: UInt64(threadCount).littleEndian) { output += $0 }
    output += threads
    let rows = try self.rows(&reader, streamCount, into: &output)
    guard output.count == size else { throw FormatError.invalid("size of its rows") }
    try output.withUnsafeMutableBytes { output in
      let stream = SegmentStream(0, of: cipher)
      for (index, row) in rows.enumerated() {
        let number = streams.load(row.stream * wordSize, as: UInt64.self)
        // The row is from a segment that was not encrypted.
        if number == 0 || row.encrypted.isEmpty { continue }
        if stream.number != number { stream.move(to: number) }
        try stream.prepare(row.encrypted, part(of: rows[index...]))
        try stream.combine(
          with: UnsafeMutableRawBufferPointer(
            rebasing: output[row.place..<row.place + row.count]),
          behind: row.clearWords, at: row.offset)
      }
    }
    return output
  }

  /// The part of the stream that is made at once: for the first row, and for the rows that follow
  /// it closely. Otherwise each row of a few bytes would cost as much as thousands of bytes.
  static func part(of rows: ArraySlice<Row>) -> Range<Int> {
    guard let first = rows.first else { return 0..<0 }
    var part = first.encrypted
    for row in rows.dropFirst() {
      guard row.stream == first.stream, part.count < SegmentStream.partSize,
        row.offset <= part.upperBound + largestGap
      else { break }
      part = part.lowerBound..<max(part.upperBound, row.offset + row.count)
    }
    return part
  }

  /// Copies all rows to `output`, and returns them stream by stream, so that little of a stream is
  /// made twice.
  private static func rows(
    _ reader: inout WordReader, _ streamCount: Int, into output: inout [UInt8]
  ) throws(FormatError) -> [Row] {
    var rows: [Row] = []
    while reader.remaining > 0 {
      let place = try reader.word()
      let (stream, offset) = (Int(place & 0xFFFF_FFFF), Int(place >> 32))
      let rest = try reader.take(reader.remaining)
      guard let row = RecordView(row: rest) else { throw .invalid("row") }
      reader = WordReader(rest.slice(row.bytes.count, rest.count - row.bytes.count))
      guard stream < streamCount, offset % wordSize == 0, offset >= SegmentLayout.size,
        offset <= RingLayout.largestSegment - row.bytes.count
      else { throw .invalid("place of a row") }
      rows.append(
        Row(
          stream: stream, offset: offset, place: output.count, count: row.bytes.count,
          clearWords: row.clearWords))
      output += row.bytes
    }
    return rows.sorted { ($0.stream, $0.offset) < ($1.stream, $1.offset) }
  }
}
