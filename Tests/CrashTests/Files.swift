import Glibc
import MMLogSystem

/// Everything in a file.
func bytes(_ path: String) throws -> [UInt8] {
  let file = try File.open(path, .read)
  let count = try file.status().size
  return try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
    filled = try file.readFully(into: UnsafeMutableRawBufferPointer(buffer), at: 0)
  }
}

func text(_ path: String) throws -> String { String(decoding: try bytes(path), as: UTF8.self) }

func write(_ bytes: [UInt8], to path: String) throws {
  let file = try File.open(path, [.write, .create, .truncate])
  try bytes.withUnsafeBytes { try file.writeFully($0, at: 0) }
}

/// Fast also where nothing is optimised.
func isEqual(_ first: [UInt8], _ second: [UInt8]) -> Bool {
  first.count == second.count
    && first.withUnsafeBytes { first in
      second.withUnsafeBytes { second in
        guard let start = first.baseAddress, let other = second.baseAddress else { return true }
        return memcmp(start, other, first.count) == 0
      }
    }
}

/// A unique folder that goes away with everything in it.
final class Folder {
  let path: String

  init() throws {
    let root = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array("\(root)/mmlog-crash.XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Failure("mkdtemp: errno \(errno)") }
    path = template.withUnsafeBytes { String(decoding: $0.dropLast(), as: UTF8.self) }
  }

  deinit { Self.remove(path) }

  /// The path of a name in it.
  func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }

  /// Copies all files of one of its folders into another, new one.
  func copy(_ from: String, to target: String) throws {
    try Directory.create(self(target))
    for name in try Directory.open(self(from)).names() {
      try write(bytes(self(from) + "/" + name), to: self(target) + "/" + name)
    }
  }

  static func remove(_ path: String) {
    if let directory = try? Directory.open(path), let names = try? directory.names() {
      for name in names where (try? directory.remove(name)) == nil { remove("\(path)/\(name)") }
    }
    rmdir(path)
  }
}
