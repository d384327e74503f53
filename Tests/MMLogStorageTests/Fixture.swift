import Foundation
import MMLogFormat
import MMLogStorage
import MMLogSystem
import TestSupport

/// A folder, a session, and what a test writes into its archives.
struct Fixture {
  let folder = TemporaryDirectory()
  let identity: SessionIdentity
  /// Labels 1 to 40, so that a dictionary frame has some size.
  let dictionary: AlignedBytes

  init(session: UInt64 = 1) {
    let identity = SessionIdentity(
      session: SessionID(words: (session, 9)), bootID: Host.bootID(), processID: 42, startTime: 1,
      processName: "orders", hostName: "tokyo", timeZone: "UTC", storeName: "test")
    self.identity = identity
    let seed = checksumSeed(session: identity.session, generation: 0)
    dictionary = AlignedBytes(
      words: (1...40).flatMap { DictionaryEntry.label(id: $0, "label \($0)").encoded(seed: seed) })
  }

  func directory() throws -> Directory { try Directory.open(folder.path) }

  func writer(compressionLevel: Int = 0) throws -> ArchiveWriter {
    try ArchiveWriter(
      in: directory(), ArchiveHeader(identity: identity, number: 1, created: 0),
      compressionLevel: compressionLevel)
  }

  /// Appends a frame with records of these ticks, as if they came from a segment of that
  /// generation.
  func append(
    _ ticks: [UInt64], generation: UInt64 = 1, to writer: ArchiveWriter, compressionLevel: Int = 0,
    dictionary: UnsafeRawBufferPointer? = nil
  ) throws {
    let dictionary = dictionary ?? self.dictionary.bytes
    let encoder = FrameEncoder(of: identity.session, compressionLevel: compressionLevel)
    let frame = encoder.encode(rows(ticks), dictionary: dictionary, fields(generation))
    try writer.append(frame, dictionary: dictionary)
  }

  func rows(_ ticks: [UInt64]) -> RowBuilder {
    let words = ticks.flatMap { TestRecord(ticks: $0, words: [$0, 0, 0]).encoded(seed: 0) }
    let memory = AlignedBytes(words: [UInt64](repeating: 0, count: 8) + words)
    return withExtendedLifetime(memory) {
      var scanner = RecordScanner(memory.bytes, from: 64, seed: 0, zeros: .end)
      var rows = RowBuilder()
      while case .record(let view, _) = scanner.next() {
        rows.add(view, thread: ThreadIdentity(ordinal: 1, id: 7, name: "t"), ticks: view.ticks)
      }
      return rows
    }
  }

  func fields(_ generation: UInt64) -> FrameHeader {
    var header = FrameHeader(.records)
    header.clock = TickClock(ticks: 0, wall: 1000, rate: 1 << 32)
    header.lowestGeneration = generation
    header.ranges = [RingRange(generation: generation, from: 128, to: 192, segment: 0)]
    return header
  }

  func read(_ path: String) throws -> ArchiveFile {
    try ArchiveFile.all(in: File.open(path, .read))[0]
  }

  /// The archive that these bytes are.
  func read(_ bytes: [UInt8]) throws -> ArchiveFile { try read(folder.put("copy.mmlog", bytes)) }

  func contents(_ path: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(fileURLWithPath: path)))
  }

  /// The names in the folder.
  var names: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
  }
}

extension ArchiveFile {
  /// Ticks of the records of each frame of records that can be read.
  func ticks() throws -> [[UInt64]] {
    try frames.filter { $0.header.type == .records }.map { frame in
      let memory = AlignedBytes(try payload(of: frame))
      return try withExtendedLifetime(memory) {
        var rows = try RowReader(memory.bytes)
        var ticks: [UInt64] = []
        while let row = try rows.next() { ticks.append(row.ticks) }
        return ticks
      }
    }
  }

  func range(_ index: Int) -> Range<Int> {
    frames[index].offset..<frames[index].offset + frames[index].header.frameSize
  }
}

/// A file, open and locked.
func locked(_ path: String) throws -> LockedFile {
  let file = try LockedFile { () throws(SystemError) in try File.open(path, [.read, .write]) }
  guard let file else { throw SystemError.locked(path) }
  return file
}

func locked(_ folder: String, _ name: String) throws -> LockedFile {
  try locked("\(folder)/\(name)")
}

extension ArchiveFile {
  /// The corrupted ranges of the archive, up to the end of its file.
  var corruptedRanges: [Range<Int>] {
    corruption.map(\.range) + (tail.corruption.map { [$0.range] } ?? [])
  }

  var tornBytes: Int { tail.tornBytes }
}
