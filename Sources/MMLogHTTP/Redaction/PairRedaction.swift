/// Redacts values with names in text, as URLs, forms and header fields have them: `name=value`; in
/// a message also `name: value`, and in URLs and forms `"name": value`, as JSON in them has it.
///
/// It passes once over the bytes of a whole text, without memory of its own. Names, and the
/// delimiters that separate them, are compared as a server decodes them, however often they are
/// percent-encoded: so a URL inside a URL's query is redacted, too. A redacted value ends only
/// where every reader would end it.
struct PairRedaction {
  /// What the text is.
  enum Kind {
    /// A URL: pairs stand behind `?`, `#`, `&` and `;`.
    case url
    /// A form: it has only pairs.
    case form
    /// The value of a header's field, or a message: pairs stand anywhere.
    case text
  }

  enum Phase {
    case text, authority
    /// In a value that is not kept: behind `=`, and behind a name and a colon.
    case redacting, redactingMessageValue
  }

  enum URLPart { case none, path, query }

  let redactor: Redactor.Compiled
  let kind: Kind
  var phase = Phase.text

  /// Whether the next bytes may be part of a name. ``name`` says where in it they are.
  var isNaming: Bool
  /// Whether there was a space or a quote in the name, or behind it: the next letter shows which.
  var hasSpace = false
  /// Whether a quote stands before the name in a URL or a form: it may be a name in JSON.
  var isQuoted = false
  var name: NameMatcher.State
  /// In a message, the end of the name behind a colon or a bracket, which may be a name of its own.
  private var innerName: NameMatcher.State
  var hasInnerName = false
  /// How much of a percent-encoded byte was read: 0: nothing; 1: the sign; 2: also a digit.
  var percent: UInt8 = 0
  private var high: UInt8 = 0

  /// How much was read of what stands before a host: 1: a colon, or the beginning; 2: also a slash.
  var slashes: UInt8 = 1
  /// Whether all bytes so far may be a scheme.
  var isScheme: Bool
  var hasQuery: Bool
  /// The part of a URL that the bytes belong to, behind a host in a message.
  var urlPart = URLPart.none
  var authority = Authority()
  /// Where in the text the next `@` of user information stands, or what shows that none comes,
  /// and where before it the last `#` stands. The bytes before that place are not searched again.
  var nextAt = (place: 0, isFound: false, hash: -1)

  private var isValueEmpty = true
  private var hasPlaceholder = false
  private var hash: ValueHash?
  private var messageValue = MessageValue()
  /// White space in a message's value that counts only if something follows.
  private var heldSpaces = 0

  /// Where the bytes begin that are kept, and not in the output yet.
  var kept = 0

  init(_ redactor: Redactor.Compiled, _ kind: Kind) {
    self.redactor = redactor
    self.kind = kind
    isNaming = kind != .url
    hasQuery = kind == .form
    isScheme = kind == .url
    name = redactor.names.started()
    innerName = name
  }

  /// Takes the text, once.
  mutating func redact(_ bytes: UnsafeRawBufferPointer, to output: inout RedactedOutput) {
    guard let base = bytes.baseAddress else { return }
    let (start, count) = (base.assumingMemoryBound(to: UInt8.self), bytes.count)
    var place = kind == .url ? plainBeginning(start, count) : 0
    if place > 0 { (isScheme, slashes) = (false, 0) }
    while place < count {
      switch phase {
      case .text: readText(start, count, &place, &output)
      case .authority: readAuthority(start, count, &place, &output)
      case .redacting: redactValue(start, count, &place, &output)
      case .redactingMessageValue: redactMessageValue(start, count, &place, &output)
      }
    }
    if phase == .text || phase == .authority {
      output.append(start + kept, place - kept)
    } else {
      endValue(to: &output)
    }
  }

  // MARK: - What is kept

  /// How many bytes of a URL stand before anything that may have to be redacted: scheme, host, port
  /// and path, if these are as usual. Other URLs are read byte by byte.
  private func plainBeginning(_ start: UnsafePointer<UInt8>, _ count: Int) -> Int {
    var place = 0
    while place < count, isLetterOrDigit(start[place]) { place &+= 1 }
    guard place &+ 3 < count, start[place] == UInt8(ascii: ":"),
      start[place &+ 1] == UInt8(ascii: "/"), start[place &+ 2] == UInt8(ascii: "/")
    else { return 0 }
    place &+= 3
    let host = place
    while place < count, Self.isOfHost(start[place]) { place &+= 1 }
    // Behind an empty host, and behind an empty port, another host may stand.
    if place == host { return 0 }
    if place < count, start[place] == UInt8(ascii: ":") {
      place &+= 1
      let port = place
      while place < count, start[place] &- UInt8(ascii: "0") < 10 { place &+= 1 }
      if place == port { return 0 }
    }
    guard place < count, start[place] == UInt8(ascii: "/") else {
      return place == count ? count : 0
    }
    while place < count, !Self.hasMeaning(start[place]) || start[place] == UInt8(ascii: "/") {
      place &+= 1
    }
    return place
  }

  private mutating func readText(
    _ start: UnsafePointer<UInt8>, _ count: Int, _ place: inout Int,
    _ output: inout RedactedOutput
  ) {
    while place < count {
      if percent == 0,
        isNaming ? readPlainName(start, count, &place) : skipPlain(start, count, &place)
      {
        slashes = 0
      }
      guard place < count else { return }
      let raw = start[place]
      place += 1
      guard let byte = decoded(raw) else { continue }
      if urlPart != .none, Self.endsURL(raw) { urlPart = .none }
      if skipsSpace(byte) { continue }
      if endsName(byte) {
        (isNaming, hasSpace) = (false, false)
        if beginValue(behind: byte) {
          output.append(start + kept, place - kept)
          return
        }
        // A quoted message has names of its own.
        if kind == .text { beginName() }
      } else if kind == .text, byte == UInt8(ascii: ":"), beginMessageValue() {
        output.append(start + kept, place - kept)
        return
      } else if isSeparator(byte) {
        if byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") {
          hasQuery = true
          if urlPart == .path { urlPart = .query }
        }
        beginName()
      } else if isNaming {
        redactor.names.take(byte, &name)
        if hasInnerName || mayBeginInnerName(byte, start, count, place) { takeInInnerName(byte) }
      }
      if isHostNext(byte) {
        authority = Authority()
        (phase, hasInnerName) = (.authority, false)
        return
      }
    }
  }

  /// Reads letters and digits of a name.
  @inline(__always)
  private mutating func readPlainName(
    _ start: UnsafePointer<UInt8>, _ count: Int, _ place: inout Int
  ) -> Bool {
    if hasSpace { return false }
    let (first, names) = (place, redactor.names)
    var name = self.name
    while place < count, isLetterOrDigit(start[place]) {
      names.take(start[place], &name)
      place &+= 1
    }
    self.name = name
    if place > first { isScheme = false }
    if hasInnerName { for index in first..<place { takeInInnerName(start[index]) } }
    return place > first
  }

  /// Whether another name may begin within a name, behind this byte. Behind white space, another
  /// name begins anyway.
  @inline(__always)
  private func mayBeginInnerName(
    _ byte: UInt8, _ start: UnsafePointer<UInt8>, _ count: Int, _ place: Int
  ) -> Bool {
    (byte == UInt8(ascii: ":") || byte == UInt8(ascii: "[")) && kind == .text && place < count
      && start[place] > 0x20 && start[place] != UInt8(ascii: "/")
  }

  /// Takes the inner name as the name, if no rule names the whole.
  @inline(never)
  private mutating func endInnerName(isInMessage: Bool) {
    let names = redactor.names
    let rule = isInMessage ? names.rule(ofWhole: name) : names.rule(of: name)
    let inner = isInMessage ? names.rule(ofWhole: innerName) : names.rule(of: innerName)
    if rule == 0, inner != 0 { name = innerName }
  }

  /// Takes a byte of a name that may have another name in it.
  @inline(never)
  private mutating func takeInInnerName(_ byte: UInt8) {
    if byte == UInt8(ascii: ":") || byte == UInt8(ascii: "[") {
      // Two colons join names of programming languages.
      hasInnerName = byte == UInt8(ascii: "[") || slashes != 1
      innerName = redactor.names.started()
    } else if hasInnerName {
      redactor.names.take(byte, &innerName)
    }
  }

  /// Passes over bytes that have no meaning outside of names.
  @inline(__always)
  private mutating func skipPlain(
    _ start: UnsafePointer<UInt8>, _ count: Int, _ place: inout Int
  ) -> Bool {
    let first = place
    while place < count, !Self.hasMeaning(start[place]) { place &+= 1 }
    return place > first
  }

  @inline(__always)
  private static func hasMeaning(_ byte: UInt8) -> Bool {
    // Letters, digits and bytes beyond ASCII have no meaning.
    if byte >= UInt8(ascii: "A") { return byte == UInt8(ascii: "\\") }
    return byte < UInt8(ascii: "-") || byte == UInt8(ascii: "/") || byte > UInt8(ascii: "9")
  }

  /// In a message, a space or a quote ends a name, unless the delimiter before its value follows.
  /// In URLs and forms, only a quote does, and it may begin a name in what would otherwise be a
  /// value.
  @inline(__always)
  mutating func skipsSpace(_ byte: UInt8) -> Bool {
    if kind == .text { return isNaming && skipsMessageSpace(byte) }
    return (hasSpace || byte == UInt8(ascii: "\"")) && skipsQuote(byte)
  }

  private mutating func skipsMessageSpace(_ byte: UInt8) -> Bool {
    if byte <= 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
      hasSpace = true
      return true
    }
    if hasSpace, isLetterOrDigit(byte) || byte >= 0x80 { beginName() }
    return false
  }

  private mutating func skipsQuote(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "\""):
      if !isNaming { beginName() }
      (hasSpace, isQuoted) = (true, true)
      return true
    case 0x00...0x20, UInt8(ascii: "+"): return true
    case UInt8(ascii: ":"), UInt8(ascii: "="): return false
    default:
      beginName()
      isQuoted = true
      return false
    }
  }

  /// Whether a value comes behind this byte.
  @inline(__always)
  func endsName(_ byte: UInt8) -> Bool {
    isNaming && (byte == UInt8(ascii: "=") || byte == UInt8(ascii: ":") && isQuoted && hasSpace)
  }

  @inline(__always)
  func isSeparator(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "&"), UInt8(ascii: ";"): true
    // In a form, these begin the query of a URL that is a value.
    case UInt8(ascii: "?"), UInt8(ascii: "#"): kind != .form || !isNaming || isQuoted
    case UInt8(ascii: ","), UInt8(ascii: "("), UInt8(ascii: "{"), 0x00...0x20: kind == .text
    default: false
    }
  }

  /// Returns the decoded byte, once it is complete.
  @inline(__always)
  mutating func decoded(_ raw: UInt8) -> UInt8? {
    if percent == 0 && raw != UInt8(ascii: "%") { return raw }
    return decodedPercent(raw)
  }

  private mutating func decodedPercent(_ raw: UInt8) -> UInt8? {
    if percent == 0 {
      percent = 1
      return nil
    }
    guard let digit = hexDigit(raw) else {
      percent = raw == UInt8(ascii: "%") ? 1 : 0
      return percent == 1 ? nil : raw
    }
    if percent == 1 {
      (percent, high) = (2, digit)
      return nil
    }
    let byte = high << 4 | digit
    // The percent sign was encoded itself.
    percent = byte == UInt8(ascii: "%") ? 1 : 0
    return percent == 1 ? nil : byte
  }

  @inline(__always)
  mutating func beginName() {
    (isNaming, hasSpace, isQuoted) = (true, false, false)
    hasInnerName = false
    name = redactor.names.started()
  }

  // MARK: - What is redacted

  /// Whether the value behind the name that has just ended with `delimiter` is not kept.
  @inline(__always)
  mutating func beginValue(behind delimiter: UInt8) -> Bool {
    // A field of JSON that no rule names is kept, as it is elsewhere.
    if hasInnerName { endInnerName(isInMessage: false) }
    let action = redactor.action(
      of: name, unlisted: delimiter == UInt8(ascii: "=") ? redactor.unlistedValues : .keep)
    if action == .keep { return false }
    beginValue(.redacting, action)
    return true
  }

  /// Whether the value behind a name and a colon is not kept. A name counts only if a rule names
  /// it.
  private mutating func beginMessageValue() -> Bool {
    if hasInnerName { endInnerName(isInMessage: true) }
    let action = redactor.action(inMessage: name)
    if action == .keep { return false }
    beginValue(.redactingMessageValue, action)
    (messageValue, heldSpaces) = (MessageValue(), 0)
    return true
  }

  private mutating func beginValue(_ phase: Phase, _ action: Redactor.Action) {
    self.phase = phase
    hash = action == .hash ? ValueHash() : nil
    hasPlaceholder = action == .redact
    isValueEmpty = true
    percent = 0
  }

  private mutating func noteValue(_ output: inout RedactedOutput) {
    if isValueEmpty, hasPlaceholder { output.append(Redactor.placeholder) }
    isValueEmpty = false
  }

  private mutating func redactValue(
    _ start: UnsafePointer<UInt8>, _ count: Int, _ place: inout Int,
    _ output: inout RedactedOutput
  ) {
    // Nobody knows where a value ends that begins with such a byte.
    if isValueEmpty, Self.endsOrOpens(start[place]) { urlPart = .none }
    let first = place
    while place < count, !endsValue(start[place]) { place &+= 1 }
    if place > first {
      noteValue(&output)
      hash?.combine(start + first, place - first)
    }
    kept = place
    if place == count { return }
    endValue(to: &output)
    // In a message, a name may begin behind anything.
    if kind == .text { beginName() }
  }

  private func endsValue(_ byte: UInt8) -> Bool {
    // Elsewhere in a message these signs may be a password's.
    if kind == .text, urlPart != .query { return false }
    return byte == UInt8(ascii: "&") || byte == UInt8(ascii: "#") && kind != .form
      || urlPart == .query && Self.endsURL(byte)
  }

  private mutating func redactMessageValue(
    _ start: UnsafePointer<UInt8>, _ count: Int, _ place: inout Int,
    _ output: inout RedactedOutput
  ) {
    defer { kept = place }
    while place < count {
      let part = messageValue.take(start[place])
      if isValueEmpty, part == .space {
        output.append(start + place, 1)
      } else if part == .end || part == .separator && !isPair(behind: place, start, count) {
        endValue(to: &output)
        beginName()
        return
      } else {
        noteValue(&output)
        if hash != nil { combine(start + place, part) }
      }
      place += 1
    }
  }

  private func isPair(behind place: Int, _ start: UnsafePointer<UInt8>, _ count: Int) -> Bool {
    MessageValue.isPair(UnsafeBufferPointer(start: start + place + 1, count: count - place - 1))
  }

  /// Adds a byte to the hash, so that quotes and white space around a value do not count.
  private mutating func combine(_ byte: UnsafePointer<UInt8>, _ part: MessageValue.Part) {
    switch part {
    case .quote: break
    case .space: heldSpaces += 1
    case .end, .separator, .content:
      var space = UInt8(ascii: " ")
      for _ in 0..<heldSpaces { hash?.combine(&space, 1) }
      heldSpaces = 0
      hash?.combine(byte, 1)
    }
  }

  private mutating func endValue(to output: inout RedactedOutput) {
    if !isValueEmpty, let hash { output.append(hash: hash.value) }
    (phase, slashes, hash) = (.text, 0, nil)
  }
}

/// The value of a hexadecimal digit.
func hexDigit(_ byte: UInt8) -> UInt8? {
  switch byte {
  case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
  case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
  case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
  default: nil
  }
}

@inline(__always)
func isLetterOrDigit(_ byte: UInt8) -> Bool {
  (byte | 0x20) &- UInt8(ascii: "a") < 26 || byte &- UInt8(ascii: "0") < 10
}
