import Glibc
import MMLogSystem

/// Operations on files and folders that tests and campaigns need.
package enum Folder {
  /// Makes a folder, and those above it.
  package static func make(_ path: String) throws { try Directory.create(path) }

  /// Makes a new folder for many small files, in memory if possible. Nothing removes the folder.
  package static func temporary() throws -> String {
    let variable = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    let root = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : variable
    var template = Array("\(root)/mmlog-torture.XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Failure("mkdtemp in \(root): errno \(errno)") }
    return template.withUnsafeBytes { String(decoding: $0.dropLast(), as: UTF8.self) }
  }

  package static func names(_ path: String) throws -> [String] {
    try Directory.open(path).names().filter { $0 != "lost+found" }.sorted()
  }

  /// Everything in a file.
  package static func read(_ path: String) throws -> [UInt8] {
    let file = try File.open(path, .read)
    let count = try file.status().size
    return try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      filled = try file.readFully(into: UnsafeMutableRawBufferPointer(buffer), at: 0)
    }
  }

  /// Everything in a file, as text; empty if it cannot be read.
  package static func text(_ path: String) -> String {
    (try? read(path)).map { String(decoding: $0, as: UTF8.self) } ?? ""
  }

  package static func write(_ bytes: [UInt8], to path: String) throws {
    let file = try File.open(path, [.write, .create, .truncate])
    try bytes.withUnsafeBytes { try file.writeFully($0, at: 0) }
  }

  /// Copies files of a folder into another, which is made if it is missing. A file that its writer
  /// renames or removes while the copy is made is left out.
  ///
  /// - Parameter isWanted: Which files to copy, by their names.
  package static func copy(
    _ path: String, to target: String, where isWanted: (String) -> Bool = { _ in true }
  ) throws {
    try make(target)
    for name in try names(path) where isWanted(name) {
      let bytes: [UInt8]
      do {
        bytes = try read("\(path)/\(name)")
      } catch let error as SystemError where error.isNotFound {
        continue
      }
      try write(bytes, to: "\(target)/\(name)")
    }
  }

  /// Removes a folder and everything in it, or a file.
  package static func remove(_ path: String) {
    if unlink(path) == 0 { return }
    if let directory = try? Directory.open(path), let names = try? directory.names() {
      for name in names { remove("\(path)/\(name)") }
    }
    rmdir(path)
  }
}
