import Foundation
import Glibc

/// The few things that the benchmarks do with files.
enum Files {
  /// A new folder.
  static func folder(_ path: String) throws -> String {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    return path
  }

  static func remove(_ path: String) { try? FileManager.default.removeItem(atPath: path) }

  /// Paths of the files in a folder whose names end with `suffix`, in the order of names, without
  /// symbolic links.
  static func list(_ folder: String, suffix: String = "") -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.sorted().filter { $0.hasSuffix(suffix) }.map { "\(folder)/\($0)" }.filter {
      var status = stat()
      return lstat($0, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }
  }

  static func size(_ path: String) -> Int {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_size : 0
  }

  static func size(of paths: [String]) -> Int { paths.map(size).reduce(0, +) }

  /// Writes back what the kernel still holds of a file.
  static func sync(_ path: String) {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return }
    fsync(file)
    close(file)
  }

  /// The lines of a file; an empty file is an error.
  static func text(_ path: String) throws -> [String] {
    let text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
    // Some files end their lines with `\r\n`, which is one character.
    let lines = text.split(whereSeparator: \.isNewline).map(String.init)
    guard !lines.isEmpty else { throw BenchmarkError("\(path) has no lines") }
    return lines
  }

  /// How many lines have an end: a last line that a kill has cut does not count.
  static func lines(in path: String) -> Int {
    guard let data = try? Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped)
    else { return 0 }
    return data.withUnsafeBytes { $0.count { $0 == UInt8(ascii: "\n") } }
  }
}
