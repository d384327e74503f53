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

  /// Puts a file there; one of that name is written to in place, for those who have it open.
  @discardableResult
  package func put(_ name: String, _ contents: [UInt8]) -> String {
    do { try Data(contents).write(to: URL(fileURLWithPath: self(name))) } catch {
      fatalError("cannot make \(self(name)): \(error)")
    }
    return self(name)
  }
}
