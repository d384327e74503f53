package import MMLogSystem

/// A secret that a file holds: a token, a password, a key. It is read anew at each use, because
/// those who rotate secrets replace the file. Only the file's path is printed.
///
/// Any thread.
package struct Secret: Hashable, Sendable, CustomStringConvertible {
  /// Longer secrets are refused.
  private static let maximum = 16 * 1024

  /// Where the secret is.
  package let path: String

  /// Names the file of a secret.
  package init(path: String) { self.path = path }

  /// The file's path.
  package var description: String { path }

  /// Reads the secret, without the line end that follows it.
  ///
  /// - Throws: ``SettingError`` where the file cannot be read, is empty, is larger than 16 KiB, or
  ///   has a control character in it, which would begin another header.
  package func read() throws(SettingError) -> String {
    let text: String
    do throws(SystemError) { text = try Self.text(ofFile: path, maximum: Self.maximum) } catch {
      throw SettingError("cannot read the secret in '\(path)': \(error)")
    }
    // A line end of two characters is one `Character`.
    let lines = text.split { $0 == "\n" || $0 == "\r\n" }
    guard lines.count == 1, let line = lines.first, text.utf8.count < Self.maximum,
      line.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
    else {
      throw SettingError(
        "'\(path)' is not a secret: it must have one line without control characters")
    }
    return String(line)
  }

  /// The first `maximum` bytes of a file, or of what comes through a pipe.
  package static func text(ofFile path: String, maximum: Int) throws(SystemError) -> String {
    let file = try File.openFollowingLinks(path)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: maximum, alignment: 1)
    defer { buffer.deallocate() }
    let count = try file.readFully(into: buffer)
    return String(decoding: buffer.prefix(count), as: UTF8.self)
  }
}

/// A setting that cannot be used: what is wrong with it, and what would be right.
package struct SettingError: Error, Equatable, Sendable, CustomStringConvertible {
  /// One sentence, without a capital letter and a full stop.
  package let description: String

  /// An error with its sentence.
  package init(_ description: String) { self.description = description }
}
