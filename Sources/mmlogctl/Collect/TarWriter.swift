import CommandLineTool
import MMLogSystem

/// Writes a tar file: POSIX's ustar, with an extended header before an entry that does not fit it.
/// Rings go without their empty parts, in GNU tar's format 1.0 for files with holes.
struct TarWriter {
  static let blockSize = 512

  /// Reads a file from an offset on: as much as there is room for, or up to the file's end.
  ///
  /// - Returns: How many bytes were read.
  typealias Reading = (UnsafeMutableRawBufferPointer, Int) -> Int

  private let output: StandardOutput
  /// What the names in the file begin with.
  private let folder: String
  /// How long the file is so far, in bytes.
  private(set) var size = 0

  init(to output: StandardOutput, folder: String) { (self.output, self.folder) = (output, folder) }

  /// Returns how many bytes a file takes at most, including headers and a map of its parts.
  static func space(of size: Int, parts: Int = 1) -> Int {
    // Two blocks are for an extended header, and one is for the file's own header. The map has two
    // numbers for each part.
    (5 + parts / 10) * blockSize + (size + blockSize - 1) / blockSize * blockSize
  }

  /// How many bytes the end takes.
  static let endSpace = 2 * blockSize

  /// Adds a text as a file.
  mutating func add(_ name: String, text: String, modified: Int64) throws(SystemError) {
    try addHeader(name, size: text.utf8.count, modified: modified)
    try append(Array(text.utf8))
    try pad()
  }

  /// Adds a file, or the parts of it that are not zeros; these begin at multiples of a block.
  ///
  /// - Returns: Whether nothing of the file was lost meanwhile.
  mutating func add(
    _ name: String, parts: [Range<Int>], size: Int, modified: Int64, _ read: Reading
  ) throws(SystemError) -> Bool {
    if parts == [0..<size] || size == 0 {
      try addHeader(name, size: size, modified: modified)
      return try append(0..<size, read)
    }
    let all = parts + [size..<size]
    var map = Array(
      ("\(all.count)\n" + all.map { "\($0.lowerBound)\n\($0.count)\n" }.joined()).utf8)
    while map.count % Self.blockSize > 0 { map.append(0) }
    let stored = map.count + parts.reduce(0) { $0 + $1.count }
    let records = [
      ("GNU.sparse.major", "1"), ("GNU.sparse.minor", "0"),
      ("GNU.sparse.name", "\(folder)/\(name)"), ("GNU.sparse.realsize", "\(size)"),
    ]
    try addHeader(
      "GNUSparseFile.0/ring", size: stored, modified: modified, records: records)
    try append(map)
    var isComplete = true
    for part in parts { isComplete = try append(part, read) && isComplete }
    return isComplete
  }

  /// The parts of a file that are not zeros, in blocks of 4 KiB.
  static func parts(ofSize size: Int, _ read: Reading) -> [Range<Int>] {
    let block = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 8)
    defer { block.deallocate() }
    var parts: [Range<Int>] = []
    for start in stride(from: 0, to: size, by: block.count) {
      let count = read(block, start)
      if !block[..<count].contains(where: { $0 != 0 }) { continue }
      let end = min(start + block.count, size)
      if let last = parts.last, last.upperBound == start {
        parts[parts.count - 1] = last.lowerBound..<end
      } else {
        parts.append(start..<end)
      }
    }
    return parts
  }

  /// Appends a part of a file, and fills the last block.
  private mutating func append(
    _ range: Range<Int>, _ read: Reading
  ) throws(SystemError) -> Bool {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 8)
    defer { buffer.deallocate() }
    var (offset, isComplete) = (range.lowerBound, true)
    while offset < range.upperBound {
      let part = UnsafeMutableRawBufferPointer(
        rebasing: buffer[..<min(buffer.count, range.upperBound - offset)])
      let count = isComplete ? read(part, offset) : 0
      if count < part.count {
        isComplete = false
        for index in count..<part.count { part[index] = 0 }
      }
      try output.append(UnsafeRawBufferPointer(part).bytes)
      offset += part.count
    }
    size += range.count
    try pad()
    return isComplete
  }

  /// Ends the file.
  mutating func finish() throws(SystemError) {
    try append([UInt8](repeating: 0, count: Self.endSpace))
    try output.flush()
  }

  // MARK: - Headers

  private mutating func addHeader(
    _ name: String, size: Int, modified: Int64, records more: [(key: String, value: String)] = []
  ) throws(SystemError) {
    let path = "\(folder)/\(name)"
    var records = more.map { Self.record($0.key, $0.value) }.joined()
    if path.utf8.count > 100 { records += Self.record("path", path) }
    if size >= 1 << 33 { records += Self.record("size", "\(size)") }
    let seconds = max(0, modified / 1_000_000_000)
    if !records.isEmpty {
      try append(Self.header("\(folder)/extended", records.utf8.count, seconds, type: "x"))
      try append(Array(records.utf8))
      try pad()
    }
    try append(Self.header(path, size, seconds, type: "0"))
  }

  /// `LENGTH KEY=VALUE\n`, where the length is that of the whole record.
  private static func record(_ key: String, _ value: String) -> String {
    let rest = " \(key)=\(value)\n"
    var length = rest.utf8.count
    while "\(length)".utf8.count + rest.utf8.count != length {
      length = "\(length)".utf8.count + rest.utf8.count
    }
    return "\(length)\(rest)"
  }

  private static func header(
    _ path: String, _ size: Int, _ seconds: Int64, type: Character
  ) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: blockSize)
    func put(_ text: String, _ offset: Int, _ size: Int) {
      for (index, byte) in text.utf8.prefix(size).enumerated() { bytes[offset + index] = byte }
    }
    func put(octal number: Int64, _ offset: Int, _ size: Int) {
      let digits = String(number, radix: 8)
      // A number that does not fit is in the extended header.
      let text = digits.utf8.count < size ? digits : String(repeating: "7", count: size - 1)
      put(String(repeating: "0", count: size - 1 - text.utf8.count) + text, offset, size)
    }
    put(path, 0, 100)
    put(octal: 0o600, 100, 8)
    put(octal: 0, 108, 8)
    put(octal: 0, 116, 8)
    put(octal: Int64(size), 124, 12)
    put(octal: seconds, 136, 12)
    put("        ", 148, 8)
    put(String(type), 156, 1)
    put("ustar", 257, 6)
    put("00", 263, 2)
    let sum = bytes.reduce(Int64(0)) { $0 + Int64($1) }
    put(octal: sum, 148, 7)
    bytes[155] = UInt8(ascii: " ")
    return bytes
  }

  private mutating func pad() throws(SystemError) {
    let rest = size % Self.blockSize
    if rest > 0 { try append([UInt8](repeating: 0, count: Self.blockSize - rest)) }
  }

  private mutating func append(_ bytes: [UInt8]) throws(SystemError) {
    try output.append(bytes.span.bytes)
    size += bytes.count
  }
}
