import MMLogFormat

extension HTTPLog {
  /// Which exchanges are recorded, judged by their beginning.
  struct Filter: Sendable {
    private let hosts: Patterns
    private let paths: Patterns
    private let predicate: (@Sendable (Request) -> Bool)?

    /// Nil if all exchanges are recorded.
    init?(_ options: Options) {
      // ``URLPlace`` has hosts in lowercase.
      hosts = Patterns(
        Names(
          allowed: options.hosts.allowed.map { $0.lowercased() },
          excluded: options.hosts.excluded.map { $0.lowercased() }))
      paths = Patterns(options.paths)
      predicate = options.predicate
      if hosts.isEmpty && paths.isEmpty && predicate == nil { return nil }
    }

    func passes(_ method: String, _ url: String) -> Bool {
      if !hosts.isEmpty || !paths.isEmpty {
        let place = URLPlace(url)
        guard hosts.match(place.host), paths.match(place.path) else { return false }
      }
      return predicate?(Request(method: method, url: url)) ?? true
    }
  }

  private struct Patterns {
    private let allowed: [Glob]
    private let excluded: [Glob]

    init(_ names: Names) {
      allowed = names.allowed.map { Glob($0) }
      excluded = names.excluded.map { Glob($0) }
    }

    var isEmpty: Bool { allowed.isEmpty && excluded.isEmpty }

    func match(_ name: String) -> Bool {
      (allowed.isEmpty || allowed.contains { $0.matches(name) })
        && !excluded.contains { $0.matches(name) }
    }
  }
}

/// Host and path of a URL, as filters see them. What begins with `//` is a URL that lacks its
/// scheme, even if it is a path that a server was asked for.
struct URLPlace {
  /// In lowercase, without user information and port; empty if the URL has none.
  let host: String
  /// Without query; `/` if the URL has none.
  let path: String

  init(_ url: String) {
    let end = url.utf8.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
    let plain = url[..<(end ?? url.endIndex)]
    guard let scheme = Self.endOfScheme(plain) else {
      host = ""
      path = plain.isEmpty ? "/" : String(plain)
      return
    }
    let rest = plain[scheme...]
    let slash = rest.utf8.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
    host = Self.host(rest[..<slash]).lowercased()
    path = slash == rest.endIndex ? "/" : String(rest[slash...])
  }

  private static func endOfScheme(_ url: Substring) -> Substring.Index? {
    let bytes = url.utf8
    if bytes.starts(with: "//".utf8) { return bytes.index(url.startIndex, offsetBy: 2) }
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), colon > bytes.startIndex,
      bytes[..<colon].allSatisfy(isOfScheme), bytes[colon...].starts(with: "://".utf8)
    else { return nil }
    return bytes.index(colon, offsetBy: 3)
  }

  /// Whether a byte may be in a scheme (RFC 3986, 3.1). A slash may not: a path may contain `://`.
  private static func isOfScheme(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "+"), UInt8(ascii: "-"),
      UInt8(ascii: "."):
      true
    default: false
    }
  }

  private static func host(_ authority: Substring) -> Substring {
    let at = authority.utf8.lastIndex(of: UInt8(ascii: "@"))
    let host = at.map { authority[authority.utf8.index(after: $0)...] } ?? authority
    if host.utf8.first == UInt8(ascii: "["), let end = host.utf8.firstIndex(of: UInt8(ascii: "]")) {
      return host[host.utf8.index(after: host.startIndex)..<end]
    }
    return host.utf8.firstIndex(of: UInt8(ascii: ":")).map { host[..<$0] } ?? host
  }
}
