/// Rows as they stood in an encrypted ring (FORMAT.md, 13): what a recovery makes, which has no
/// key.
///
/// Before each row a word says of which stream it is and where in its segment it stood. Who has the
/// ring's key makes the rows of it that a frame has otherwise.
package enum SealedRows {
  /// Where a row stood, as a word.
  static func place(stream: Int, offset: Int) -> UInt64 {
    UInt64(UInt32(truncatingIfNeeded: stream)) | UInt64(offset) << 32
  }

  struct Row {
    /// Which of the streams it is of.
    let stream: Int
    let offset: Int
    /// Where it is in the payload in rows.
    let place: Int
    let count: Int
    let clearWords: Int

    /// What of the stream it is encrypted with.
    var encrypted: Range<Int> { offset + clearWords * wordSize..<offset + count }
  }

  /// To make so much of a stream costs no more than to begin anew behind it.
  private static let largestGap = 4096

  /// The payload in rows.
  ///
  /// - Parameter size: How large that is.
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
        // Of a segment that was not encrypted.
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

  /// What is to be made of the stream at once: what the first row needs, and those that follow it
  /// closely. A row of a few bytes that stands alone would else cost as much as thousands.
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

  /// Copies all rows, and gives them stream by stream, so that little of a stream is made twice.
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
