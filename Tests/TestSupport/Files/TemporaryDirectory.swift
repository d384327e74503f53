import Foundation

/// A unique folder that is removed with everything in it. Its methods do not use the code under
/// test.
package final class TemporaryDirectory: Sendable {
  package let path: String

  package init() {
    var template = Array("\(NSTemporaryDirectory())mmlog-test.XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { fatalError("mkdtemp: errno \(errno)") }
    path = template.withUnsafeBytes { String(decoding: $0.dropLast(), as: UTF8.self) }
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  /// The path of a file in the folder.
  package func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }

  /// The names in it, or in a folder of it, sorted.
  package func names(_ folder: String = "") throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "\(path)/\(folder)").sorted()
  }

  /// The names that end with `suffix`.
  package func names(ending suffix: String) throws -> [String] {
    try names().filter { $0.hasSuffix(suffix) }
  }

  /// Puts a file into the folder. A file of that name is overwritten in place, for those who have
  /// it open.
  @discardableResult
  package func put(_ name: String, _ contents: [UInt8]) -> String {
    do { try Data(contents).write(to: URL(fileURLWithPath: self(name))) } catch {
      fatalError("cannot make \(self(name)): \(error)")
    }
    return self(name)
  }

  /// Puts a file with a text into the folder.
  @discardableResult
  package func put(_ name: String, _ text: String = "") -> String { put(name, Array(text.utf8)) }

  /// A file's bytes.
  package func bytes(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(fileURLWithPath: self(name))))
  }

  /// A file's bytes; nil if it cannot be read.
  package func contents(_ name: String) -> [UInt8]? { try? bytes(name) }
}
