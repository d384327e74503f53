package import MMLogSystem

/// A request of HTTP.
package struct HTTPRequest: Sendable {
  /// What is sent with it.
  package enum Body: Sendable {
    /// Nothing.
    case none
    /// These bytes.
    case bytes([UInt8])
    /// A part of a file, which is read while it is sent.
    case file(SentFile, range: Range<Int>)
  }

  /// `GET`, `HEAD`, `POST`, `PUT`, `DELETE`.
  package var method: String
  /// Where the request goes: `http:` or `https:`, with path and query, encoded.
  package var url: String
  /// Its headers, without those that libcurl makes: Host, Content-Length and the like.
  package var headers: [(name: String, value: String)]
  /// What is sent.
  package var body: Body

  /// Makes a request.
  package init(
    _ method: String, _ url: String, headers: [(name: String, value: String)] = [],
    body: Body = .none
  ) {
    (self.method, self.url, self.headers, self.body) = (method, url, headers, body)
  }
}

/// An open file, parts of which are sent.
package final class SentFile: Sendable {
  let file: File

  /// Takes a file over.
  package init(_ file: consuming File) { self.file = file }
}

/// What a server answered.
package struct HTTPResponse: Sendable {
  /// The status, such as 200.
  package var status = 0
  /// The headers, their names in lower case.
  package var headers: [(name: String, value: String)] = []
  /// The body, whole.
  package var body: [UInt8] = []

  /// The value of a header by its name in lower case; nil if there is none.
  package func header(_ name: String) -> String? {
    headers.last { $0.name == name }?.value
  }

  /// The body as text.
  package var text: String { String(decoding: body, as: UTF8.self) }

  /// Whether the request was done: status 2xx.
  package var isSuccess: Bool { 200..<300 ~= status }
}

/// Why no answer came.
package struct HTTPFailure: Error, Equatable, Sendable, CustomStringConvertible {
  /// What kind of failure it is.
  package enum Kind: Sendable {
    /// The server was not reached, did not answer in time, or broke off.
    case unreachable
    /// No request succeeds until somebody changes the configuration: a certificate, a file, an
    /// address.
    case configuration
    /// What was to be sent cannot be read.
    case unreadable
    /// The answer is larger than allowed.
    case tooLarge
    /// The task was canceled.
    case canceled
  }

  /// What kind of failure it is.
  package let kind: Kind
  /// What failed and how to fix it. No secret is in it.
  package let description: String
}

// This works on bytes: `>` or `;` may form one character with what follows.
extension StringProtocol {
  /// Returns the content of each element of a name whose tag has no attributes. In answers of S3,
  /// no element has attributes, or contains an element of the same name.
  func elements(_ name: String) -> [Substring] {
    var (found, rest) = ([Substring](), Substring(self).utf8)
    while let start = rest.firstRange(of: "<\(name)>".utf8),
      let end = rest[start.upperBound...].firstRange(of: "</\(name)>".utf8)
    {
      found.append(Substring(rest[start.upperBound..<end.lowerBound]))
      rest = rest[end.upperBound...]
    }
    return found
  }
}
