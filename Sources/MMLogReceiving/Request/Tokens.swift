package import MMLogStorage
import MMLogSystem

/// Who may send archives: clients by name, each with one or several tokens.
///
/// A file has a line for each token, `NAME TOKEN`. Empty lines and lines that begin with `#` are
/// skipped.
package struct Tokens: Sendable {
  private var entries: [(client: String, token: [UInt8])] = []

  /// Reads the file.
  ///
  /// - Throws: What is wrong with the file, with the line; also if every user may read the file.
  package static func read(_ path: String) throws(LogError) -> Tokens {
    let (problem, bytes) = try explaining("Reading the tokens failed") { () throws(SystemError) in
      let file = try File.openFollowingLinks(path)
      return (try file.status().openness(path), try file.bytes(at: 0, count: largestFile + 1))
    }
    if let problem { throw LogError(.invalidConfiguration, problem, path: path) }
    if bytes.count > largestFile {
      throw LogError(
        .invalidConfiguration, "\(path) is larger than \(largestFile) bytes.", path: path)
    }
    return try Tokens(bytes, path: path)
  }

  private static let largestFile = 1 << 20
  private static let shortestToken = 16

  package init(_ bytes: [UInt8], path: String) throws(LogError) {
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      let words = line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == 13 }
      guard let first = words.first, first.first != UInt8(ascii: "#") else { continue }
      guard words.count == 2, Self.isName(first), Self.isToken(words[1]) else {
        throw LogError(
          .invalidConfiguration,
          "\(path), line \(index + 1): it is not 'NAME TOKEN': a name of 1 to 32 letters, digits, "
            + "'-' and '_', and a token of at least \(Self.shortestToken) characters of ASCII.",
          path: path)
      }
      entries.append((String(decoding: first, as: UTF8.self), Array(words[1])))
    }
  }

  private static func isName(_ word: ArraySlice<UInt8>) -> Bool {
    word.count <= 32
      && word.allSatisfy {
        (48...57) ~= $0 || (65...90) ~= $0 || (97...122) ~= $0 || $0 == UInt8(ascii: "-")
          || $0 == UInt8(ascii: "_")
      }
  }

  private static func isToken(_ word: ArraySlice<UInt8>) -> Bool {
    (shortestToken...512) ~= word.count && word.allSatisfy { (33...126) ~= $0 }
  }

  /// Returns the client that sends a request; nil if the request has no known token.
  ///
  /// The time that this takes depends on the number of tokens, and on nothing else about them.
  ///
  /// - Parameter authorization: The field `Authorization`: `Bearer TOKEN`.
  package func client(_ authorization: String?) -> String? {
    let words = (authorization ?? "").split(separator: " ")
    let isBearer = words.count == 2 && words[0].lowercased() == "bearer"
    let given = Array((isBearer ? words[1] : "").utf8.prefix(513))
    var found: String?
    for entry in entries where isEqual(entry.token, given) { found = entry.client }
    return found
  }

  /// Compares all bytes, wherever the first difference is.
  private func isEqual(_ token: [UInt8], _ given: [UInt8]) -> Bool {
    var difference = token.count ^ given.count
    for index in given.indices {
      difference |= Int(token[index % token.count] ^ given[index])
    }
    return difference == 0
  }
}
