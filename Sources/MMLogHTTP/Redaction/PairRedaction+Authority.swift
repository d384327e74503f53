/// What stands between a scheme and a path: user information and a host.
extension PairRedaction {
  /// Whether a host, and before it perhaps a name and a password, begin behind this byte.
  @inline(__always)
  mutating func isHostNext(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: ":"):
      // Behind a scheme, slashes may be missing.
      slashes = 1
      defer { isScheme = false }
      return isScheme
    case UInt8(ascii: "/"), UInt8(ascii: "\\"):
      isScheme = false
      if slashes == 2 { return true }
      slashes = slashes == 1 ? 2 : 0
      return false
    case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."): slashes = 0
    // A value may be a URL without a scheme.
    case UInt8(ascii: "="): (slashes, isScheme) = (1, false)
    default:
      slashes = 0
      if !isLetterOrDigit(byte) { isScheme = false }
    }
    return false
  }

  /// Whether `&` ends a value here. A question mark in the words of a message begins no query.
  var isInQuery: Bool { kind == .text ? urlPart == .query : hasQuery }

  /// What stands between a scheme and a path.
  struct Authority {
    var isBegun = false
    var hasUserInformation = false
    /// Whether something other than a port stands behind a colon.
    var hasNoPort = false
    var isBehindColon = false
  }

  mutating func readAuthority(
    _ start: UnsafePointer<UInt8>, _ count: Int, _ place: inout Int,
    _ output: inout RedactedOutput
  ) {
    while place < count {
      if authority.isBegun, !authority.isBehindColon, !isNaming, percent == 0 {
        while place < count, Self.isOfName(start[place]) { place &+= 1 }
        guard place < count else { return }
      }
      let raw = start[place]
      place += 1
      guard let byte = decoded(raw) else { continue }
      let isSlash = byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\")
      if !authority.isBegun {
        if isSlash { continue }
        authority.isBegun = true
        output.append(start + kept, place - 1 - kept)
        kept = place - 1
      }
      if byte == UInt8(ascii: "@") {
        if !authority.hasUserInformation { output.append(Redactor.placeholder) }
        output.append("@")
        kept = place
        readNameInAuthority(byte)
        authority.hasUserInformation = true
        (authority.isBehindColon, authority.hasNoPort) = (false, false)
      } else if endsName(byte), beginValue(behind: byte) {
        // No host has this delimiter. What is before it may be a password that goes on behind it.
        if !authority.hasUserInformation { output.append(Redactor.placeholder) }
        return
      } else if endsAuthority(byte, raw) {
        if goesOn(behind: raw, start, count, place) {
          readNameInAuthority(byte)
          continue
        }
        phase = .text
        if kind == .text, urlPart == .none { urlPart = .path }
        isScheme = false
        // What looked like a host may be one more scheme, `jdbc:postgresql://`, or end in a name.
        let before = place > 1 ? start[place - 2] : 0
        slashes = isSlash && (before == UInt8(ascii: ":") || before == UInt8(ascii: "=")) ? 1 : 0
        // The byte is read again as what follows; a byte that was encoded is complete.
        if raw == byte { place -= 1 } else if isSeparator(byte) { beginName() }
        return
      } else {
        authority.note(byte)
        readNameInAuthority(byte)
      }
    }
  }

  /// Whether a byte is a letter, a digit, a dot or a minus sign, as hosts have them.
  @inline(__always)
  static func isOfHost(_ byte: UInt8) -> Bool {
    isLetterOrDigit(byte) || byte &- UInt8(ascii: "-") < 2
  }

  /// Whether a byte has no meaning in a host.
  @inline(__always)
  private static func isOfName(_ byte: UInt8) -> Bool {
    byte >= UInt8(ascii: "A")
      ? byte != UInt8(ascii: "\\") && byte != UInt8(ascii: "]")
      : byte &- UInt8(ascii: "-") < 2 || byte &- UInt8(ascii: "0") < 10
  }

  private mutating func readNameInAuthority(_ byte: UInt8) {
    if kind != .text, skipsSpace(byte) { return }
    if isSeparator(byte) {
      beginName()
    } else if byte == UInt8(ascii: "=") || endsName(byte) {
      (isNaming, hasSpace) = (false, false)
      if kind == .text { beginName() }
    } else if isNaming {
      redactor.names.take(byte, &name)
    }
  }

  private func endsAuthority(_ byte: UInt8, _ raw: UInt8) -> Bool {
    if Self.endsHost(byte) { return true }
    if byte == UInt8(ascii: "&") { return isInQuery && raw == byte }
    return kind == .text && Self.endsURL(byte)
  }

  /// Whether a path, a query or a fragment begins with a byte.
  private static func endsHost(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "/"), UInt8(ascii: "\\"), UInt8(ascii: "?"), UInt8(ascii: "#"): true
    default: false
    }
  }

  /// Whether a byte ends a URL in a message.
  @inline(__always)
  static func endsURL(_ byte: UInt8) -> Bool {
    byte <= 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "<")
      || byte == UInt8(ascii: ">")
  }

  /// Whether a byte ends a URL in a message, or opens something that may have such bytes in it.
  static func endsOrOpens(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "'"), UInt8(ascii: "`"): true
    case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "("): true
    // A backslash stands before a quote in a quoted text.
    case UInt8(ascii: "\\"): true
    default: endsURL(byte)
    }
  }

  /// Whether what would end a host may stand in a password: it is encoded, or should have been.
  private mutating func goesOn(
    behind raw: UInt8, _ start: UnsafePointer<UInt8>, _ count: Int, _ place: Int
  ) -> Bool {
    let isEncoded = hexDigit(raw) != nil
    if isEncoded && !isInQuery && kind == .url { return true }
    // What stands behind the colon is no port: it is a password, if an `@` of user information
    // follows.
    let mayBeMissing = authority.hasNoPort && Self.endsHost(raw)
    guard mayBeMissing || isEncoded && !authority.hasUserInformation else { return false }
    if nextAt.place < place { searchAt(start, count, from: place) }
    return nextAt.isFound && (authority.hasNoPort || nextAt.hash < place)
  }

  private mutating func searchAt(_ start: UnsafePointer<UInt8>, _ count: Int, from first: Int) {
    var place = first
    nextAt = (first, false, -1)
    search: while place < count {
      switch start[place] {
      case UInt8(ascii: "&"): if isInQuery { break search }
      case UInt8(ascii: "#"): nextAt.hash = place
      case UInt8(ascii: "@"): nextAt.isFound = true
      // `%40`, however often that was encoded.
      case UInt8(ascii: "4"):
        nextAt.isFound = place + 1 < count && start[place + 1] == UInt8(ascii: "0")
      default: if kind == .text && Self.endsURL(start[place]) { break search }
      }
      if nextAt.isFound { break }
      place += 1
    }
    nextAt.place = place
  }
}

extension PairRedaction.Authority {
  fileprivate mutating func note(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: ":"): (isBehindColon, hasNoPort) = (true, false)
    // The end of an address of IPv6.
    case UInt8(ascii: "]"): (isBehindColon, hasNoPort) = (false, false)
    case UInt8(ascii: "0")...UInt8(ascii: "9"): break
    default: hasNoPort = hasNoPort || isBehindColon
    }
  }
}
