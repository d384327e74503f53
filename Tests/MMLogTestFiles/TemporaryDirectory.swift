import Foundation

/// A unique folder that goes away with everything in it.
package final class TemporaryDirectory: Sendable {
  package let path: String

  package init() {
    var template = Array("\(NSTemporaryDirectory())mmlog-reader.XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { fatalError("mkdtemp: errno \(errno)") }
    path = template.withUnsafeBytes { String(decoding: $0.dropLast(), as: UTF8.self) }
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  /// The path of a name in it.
  package func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }

  /// Puts a file there.
  @discardableResult
  package func put(_ name: String, _ contents: [UInt8]) -> String {
    let isThere = FileManager.default.createFile(atPath: self(name), contents: Data(contents))
    precondition(isThere, "cannot make \(self(name))")
    return self(name)
  }
}
