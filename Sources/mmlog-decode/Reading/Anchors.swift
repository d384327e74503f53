import CommandLineTool
import MMLogAnalysis
import MMLogStorage
import MMLogSystem

/// A file with heads that were noted, one in a line. Text before a head, and all other lines, are
/// passed over, so that the file may be another log.
struct Anchors {
  let path: String
  private(set) var heads: [ArchiveHead] = []
  /// The line of each head, from 1.
  private(set) var lines: [Int] = []

  private static let largestFile = 1 << 30

  /// - Throws: ``UsageError`` for a file without a head, or with a part of one; ``LogError`` for a
  ///   file that cannot be read.
  init(file path: String) throws {
    self.path = path
    let bytes = try Self.bytes(ofFile: path)
    for (index, line) in bytes.split(
      separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false
    )
    .enumerated() {
      let begin = ArchiveHead.word + " "
      guard let place = line.firstRange(of: Array(begin.utf8)) else { continue }
      let text = String(decoding: line[place.lowerBound...], as: UTF8.self)
      guard let head = ArchiveHead(text.hasSuffix("\r") ? String(text.dropLast()) : text) else {
        throw UsageError("--anchor: line \(index + 1) of \(path) has no whole head")
      }
      heads.append(head)
      lines.append(index + 1)
    }
    if heads.isEmpty {
      throw UsageError("--anchor: \(path) has no head, as 'mmlogctl head' prints them")
    }
  }

  /// Reads a file, or a pipe to its end.
  private static func bytes(ofFile path: String) throws -> [UInt8] {
    let bytes = try explaining("Reading the anchors failed") { () throws(SystemError) in
      let file = try File.openFollowingLinks(path)
      try file.makeBlocking()
      let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 1)
      defer { piece.deallocate() }
      var bytes: [UInt8] = []
      while bytes.count <= largestFile, case let count = try file.read(into: piece), count > 0 {
        bytes += piece[..<count]
      }
      return bytes
    }
    if bytes.count > largestFile {
      throw UsageError(
        "--anchor: \(path) is larger than 1 GiB: give the lines with \(ArchiveHead.word) alone")
    }
    return bytes
  }
}
