import Foundation

/// A unique folder that goes away with everything in it.
final class TemporaryDirectory: Sendable {
  let path: String

  init() {
    var template = Array("\(NSTemporaryDirectory())mmlog-system.XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { fatalError("mkdtemp: errno \(errno)") }
    path = template.withUnsafeBytes { String(decoding: $0.dropLast(), as: UTF8.self) }
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  /// The path of a name in it.
  func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }

  /// Puts a file there, without the code under test.
  @discardableResult
  func put(_ name: String, _ contents: String = "") -> String {
    let isThere = FileManager.default.createFile(atPath: self(name), contents: Data(contents.utf8))
    precondition(isThere, "cannot make \(self(name))")
    return self(name)
  }

  /// A file's bytes, without the code under test.
  func contents(_ name: String) -> [UInt8]? {
    FileManager.default.contents(atPath: self(name)).map { Array($0) }
  }
}
