import MMLogSystem

/// Small files of texts by name, a line each: `key value`. An archive's state and a store's
/// settings are kept so.
extension Directory {
  /// The texts of a file; nil if there is none, or another user has made it.
  ///
  /// - Parameter limit: How many bytes are read at most.
  borrowing func fields(
    of name: String, atMost limit: Int
  ) throws(SystemError) -> [String: String]? {
    let file: File
    do throws(SystemError) {
      file = try openFile(name, [.read, .nonBlocking])
    } catch  where error.isNotFound || error.isSymbolicLink {
      return nil
    }
    let status = try file.status()
    guard status.isRegularFile, try !Ownership(of: self).isForeign(status) else { return nil }
    var fields: [String: String] = [:]
    for line in try file.bytes(at: 0, count: limit).split(separator: UInt8(ascii: "\n")) {
      guard let text = String(validating: line, as: UTF8.self) else { continue }
      // By scalars: a text may begin with a scalar that combines with the space before it.
      let parts = text.unicodeScalars.split(
        separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
      fields[String(parts[0])] = parts.count == 2 ? String(parts[1]) : ""
    }
    return fields
  }

  /// Writes the texts of a file, whole or not at all.
  ///
  /// - Parameter written: Called before the file gets its name.
  borrowing func store(
    _ fields: [String: String], in name: String, written: () -> Void = {}
  ) throws(SystemError) {
    let text = fields.map { "\($0.key) \($0.value)\n" }.inOrder().joined()
    try replace(name, with: Array(text.utf8), written: written)
  }
}
