import MMLogFormat
import MMLogReader

extension Secret {
  /// Reads the secret, and notes it among the secrets that no error may show.
  func read(into secrets: inout [String]) throws(SettingError) -> String {
    let secret = try read()
    secrets.append(secret)
    return secret
  }

  /// Reads a user's password in the same way, and also notes what the header of Basic
  /// authentication has.
  func read(
    of user: String, into secrets: inout [String]
  ) throws(SettingError) -> String {
    let password = try read()
    var encoded = TextBuffer()
    Array("\(user):\(password)".utf8).withUnsafeBytes { encoded.append(base64: $0) }
    // The longer one comes first, since the other may be a part of it.
    secrets += [encoded.text(), password]
    return password
  }
}

extension HTTPResponse {
  /// Returns the answer with stars where the server repeats a secret. The server's words end up in
  /// errors, also those about single records in a successful answer.
  func hiding(_ secrets: [String]) -> HTTPResponse {
    var response = self
    response.headers = headers.map { ($0.name, $0.value.hiding(secrets)) }
    for secret in secrets { response.body.hide(Array(secret.utf8)) }
    return response
  }
}

extension [UInt8] {
  /// Replaces each byte of a secret with a star, so that lengths in the content stay right.
  fileprivate mutating func hide(_ secret: [UInt8]) {
    guard let first = secret.first else { return }
    var index = 0
    while index + secret.count <= count {
      let end = index + secret.count
      if self[index] == first, self[index..<end].elementsEqual(secret) {
        for place in index..<end { self[place] = UInt8(ascii: "*") }
        index = end
      } else {
        index += 1
      }
    }
  }
}

extension String {
  func hiding(_ secrets: [String]) -> String {
    // This works on bytes: the end of a secret may form one character with what follows.
    let bytes = secrets.filter { !$0.isEmpty }.reduce(Array(utf8)) {
      $0.replacing($1.utf8, with: "***".utf8)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
