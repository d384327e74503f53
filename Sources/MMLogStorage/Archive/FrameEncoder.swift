package import MMLogFormat

/// A frame of records that only has to be appended to an archive.
package struct EncodedFrame: Sendable {
  /// The header without the fields that the archive sets. The lowest generation may be set when the
  /// frame is appended.
  package var header: FrameHeader
  let payload: [UInt8]
  let levels: LevelCounts
}

/// Encodes the frames of a session's records.
///
/// Proof of `@unchecked Sendable`: whoever has it uses it on one thread at a time, and hands it
/// from one to another by a lock.
package final class FrameEncoder: @unchecked Sendable {
  /// Nil if records stay in rows.
  private let compressor: Compressor?
  private let seed: UInt32
  private let columns = ColumnEncoder()
  private var callSites = CallSiteFields()
  /// How many bytes of the dictionary ``callSites`` knows.
  private var dictionaryKnown = 0

  /// - Parameters:
  ///   - session: The session of the records.
  ///   - compressionLevel: 0 (none) to 9.
  ///   - format: The compression of records. The build must have it.
  package init(
    of session: SessionID, compressionLevel: Int, format: CompressionFormat = .zlib
  ) {
    compressor = Compressor(level: compressionLevel, format)
    seed = checksumSeed(session: session, generation: 0)
  }

  /// Encodes the rows of a frame.
  ///
  /// - Parameters:
  ///   - dictionary: All entries of the session so far: not fewer than the last time.
  ///   - fields: A header with clock, ranges, lowest generation, and how much effort is wanted; the
  ///     rest is filled in.
  package func encode(
    _ rows: borrowing RowBuilder, dictionary: UnsafeRawBufferPointer, _ fields: FrameHeader
  ) -> EncodedFrame {
    var header = fields
    header.summary = rows.summary
    header.summary.firstWall = header.clock.wall(at: header.summary.firstTicks)
    header.summary.lastWall = header.clock.wall(at: header.summary.lastTicks)
    header.rawSize = rows.size
    if rows.areSealed {
      (header.codec, header.effort) = (.sealedRows, .full)
      return EncodedFrame(header: header, payload: rows.sealedPayload(), levels: rows.levels)
    }
    guard let compressor else {
      header.codec = .rows
      header.effort = .full
      return EncodedFrame(header: header, payload: rows.payload(), levels: rows.levels)
    }
    learnCallSites(from: dictionary)
    header.codec = compressor.format == .zstd ? .zstdColumns : .columns
    let payload = columns.encode(rows, callSites, compressor, effort: fields.effort)
    // A repair may have read more rows from one frame than a process puts into one.
    guard rows.size <= compressor.format.largestRows(ofColumns: payload.count) else {
      (header.codec, header.effort) = (.rows, .full)
      return EncodedFrame(header: header, payload: rows.payload(), levels: rows.levels)
    }
    header.effort = columns.effort
    return EncodedFrame(header: header, payload: payload, levels: rows.levels)
  }

  private func learnCallSites(from dictionary: UnsafeRawBufferPointer) {
    guard dictionary.count > dictionaryKnown else { return }
    callSites.add(
      entriesIn: dictionary.slice(dictionaryKnown, dictionary.count - dictionaryKnown), seed: seed)
    dictionaryKnown = dictionary.count
  }
}
