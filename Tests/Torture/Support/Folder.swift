import Glibc
import MMLogSystem

/// What the campaign itself does with files.
enum Folder {
  /// Makes a folder, and those above it.
  static func make(_ path: String) throws { try Directory.create(path) }

  /// A new folder for many small files: in memory if possible.
  static func temporary() throws -> String {
    let variable = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    let root = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : variable
    var template = Array("\(root)/mmlog-torture.XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Failure("mkdtemp in \(root): errno \(errno)") }
    return template.withUnsafeBytes { String(decoding: $0.dropLast(), as: UTF8.self) }
  }

  static func names(_ path: String) throws -> [String] {
    try Directory.open(path).names().filter { $0 != "lost+found" }.sorted()
  }

  static func read(_ path: String) throws -> [UInt8] {
    let file = try File.open(path, .read)
    let count = try file.status().size
    return try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      filled = try file.readFully(into: UnsafeMutableRawBufferPointer(buffer), at: 0)
    }
  }

  static func write(_ bytes: [UInt8], to path: String) throws {
    let file = try File.open(path, [.write, .create, .truncate])
    try bytes.withUnsafeBytes { try file.writeFully($0, at: 0) }
  }

  /// Removes a folder and everything in it.
  static func remove(_ path: String) {
    if let directory = try? Directory.open(path), let names = try? directory.names() {
      for name in names where unlink("\(path)/\(name)") != 0 { remove("\(path)/\(name)") }
    }
    rmdir(path)
  }
}

/// Something that the campaign needs did not work.
struct Failure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
