/// Where a destination is, as a user writes it: a kind, and what that kind needs to know.
package enum DestinationURL: Hashable, Sendable {
  /// `otlp+http://…`
  case otlp(String)
  /// `http://…`: lines of JSON.
  case lines(String)
  /// `clickhouse+http://…`
  case clickHouse(String)
  /// `elasticsearch+http://…`, `opensearch+http://…`
  case elasticsearch(String)
  /// `loki+http://…`
  case loki(String)
  /// `kafka://HOST:PORT,…/TOPIC`
  case kafka(brokers: String, topic: String)
  /// `exec:COMMAND`
  case command(String)
  /// `s3://BUCKET/PREFIX`: whole archives.
  case s3(bucket: String, prefix: String)
  /// `put+http://…`: whole archives.
  case put(String)

  /// The forms that there are, for help.
  package static let forms = [
    ("otlp+http://HOST:4318", "OpenTelemetry's protocol, OTLP, in protocol buffers"),
    ("clickhouse+http://HOST:8123", "a table of ClickHouse"),
    ("http://HOST/PATH", "lines of JSON by POST"),
    ("exec:COMMAND", "lines of JSON on a command's standard input, which runs once a batch"),
    ("s3://BUCKET/PREFIX", "whole archives as objects of S3"),
    ("put+http://HOST/PATH", "whole archives by PUT, as to mmlog-receive"),
    ("kafka://HOST:9092/TOPIC", "lines of JSON in a topic of Kafka"),
    ("elasticsearch+http://HOST:9200", "documents of Elasticsearch or OpenSearch"),
    ("loki+http://HOST:3100", "Grafana Loki"),
  ]

  /// Reads what a user has written.
  ///
  /// - Throws: A sentence that says what is wrong. It has no part of the text that could be a
  ///   secret.
  package init(_ text: String) throws(SettingError) {
    guard let colon = text.firstIndex(of: ":") else {
      throw SettingError("a destination is written as a URL, such as otlp+http://host:4318")
    }
    let scheme = text[..<colon].lowercased()
    let rest = String(text[text.index(after: colon)...])
    if scheme == "exec" {
      guard !rest.isEmpty else { throw SettingError("a command is missing behind 'exec:'") }
      self = .command(rest)
      return
    }
    let authority = try Self.authority(rest, scheme)
    switch scheme {
    case "http", "https": self = .lines(text)
    case "s3", "kafka":
      let behind = rest.utf8.dropFirst(2 + authority.utf8.count)
      let path = String(Substring(behind.drop { $0 == UInt8(ascii: "/") }))
      if scheme == "s3" {
        self = .s3(bucket: authority, prefix: path)
      } else {
        guard !path.isEmpty, !path.utf8.contains(UInt8(ascii: "/")) else {
          throw SettingError("a topic is missing: write kafka://HOST:9092/TOPIC")
        }
        self = .kafka(brokers: authority, topic: path)
      }
    default: self = try Self.overHTTP(scheme, rest)
    }
  }

  private static func overHTTP(_ scheme: String, _ rest: String) throws(SettingError) -> Self {
    let parts = scheme.split(separator: "+", maxSplits: 1)
    guard parts.count == 2, parts[1] == "http" || parts[1] == "https" else {
      throw SettingError(
        "there is no kind of destination '\(scheme.prefix(40))'; there are "
          + forms.map { String($0.0.prefix { $0 != ":" }) }.joined(separator: ", "))
    }
    let url = "\(parts[1]):\(rest)"
    let destination: Self
    switch parts[0] {
    case "otlp": destination = .otlp(url)
    case "clickhouse": return .clickHouse(url)
    case "elasticsearch", "opensearch": destination = .elasticsearch(url)
    case "loki": destination = .loki(url)
    case "put": destination = .put(url)
    default:
      throw SettingError(
        "there is no kind of destination '\(parts[0].prefix(40))'; there are otlp, clickhouse, "
          + "elasticsearch, opensearch, loki and put")
    }
    if rest.unicodeScalars.contains(where: { $0 == "?" || $0 == "#" }) {
      throw SettingError(
        "paths are put behind a URL of '\(parts[0])': it must have no query and no '#'")
    }
    return destination
  }

  private static func authority(_ rest: String, _ scheme: String) throws(SettingError) -> String {
    guard rest.hasPrefix("//") else {
      throw SettingError("'//' is missing behind '\(scheme.prefix(40)):'")
    }
    // This works on scalars: each of these may form one character with what follows.
    let authority = rest.unicodeScalars.dropFirst(2).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    guard !authority.isEmpty else {
      throw SettingError("a host is missing behind '\(scheme.prefix(40))://'")
    }
    guard !authority.contains("@") else {
      throw SettingError(
        "a URL must not have a user or a password in it, which others see; set user and "
          + "password-file")
    }
    guard !rest.lowercased().utf8.contains("password=".utf8) else {
      throw SettingError(
        "a URL must not have a password in it, which others see; set password-file")
    }
    return String(authority)
  }

  /// Whether even a small batch costs the receiver much: ClickHouse makes each insert a part of a
  /// table, and merges parts later.
  package var prefersLargeBatches: Bool {
    if case .clickHouse = self { true } else { false }
  }

  /// Whether the destination takes whole archives.
  package var takesArchives: Bool {
    switch self {
    case .s3, .put: true
    default: false
    }
  }

  /// The place of the destination, of which ``name`` may have only a part. It leaves out whether
  /// the connection is encrypted, and the settings of ClickHouse except the database.
  var place: String {
    switch self {
    case .otlp(let url), .lines(let url), .elasticsearch(let url), .loki(let url), .put(let url):
      return url.withoutScheme
    case .clickHouse(let url):
      let query = url.utf8.split(separator: UInt8(ascii: "?"), maxSplits: 1).dropFirst().first
      let settings = query?.split(separator: UInt8(ascii: "&")) ?? []
      let database = settings.first { $0.starts(with: "database=".utf8) }
      return url.withoutQuery.withoutScheme + (database.map { "?\(Substring($0))" } ?? "")
    case .kafka(let brokers, let topic): return "\(brokers)/\(topic)"
    case .s3(let bucket, let prefix): return "\(bucket)/\(prefix)"
    case .command(let command): return command
    }
  }

  /// A name for the destination, such as `otlp-collector-4318`: of letters, digits, `-`, `_` and
  /// `.`.
  package var name: String {
    let words: String =
      switch self {
      case .otlp(let url): "otlp-\(url.host)"
      case .lines(let url): "lines-\(url.host)"
      case .clickHouse(let url): "clickhouse-\(url.host)"
      case .elasticsearch(let url): "elasticsearch-\(url.host)"
      case .loki(let url): "loki-\(url.host)"
      case .put(let url): "put-\(url.host)"
      case .kafka(let brokers, let topic): "kafka-\(brokers)-\(topic)"
      case .s3(let bucket, let prefix): "s3-\(bucket)-\(prefix)"
      case .command(let command): "exec-\(command)"
      }
    let parts = words.split { !($0.isASCII && ($0.isLetter || $0.isNumber || $0 == ".")) }
    return String(parts.joined(separator: "-").prefix(48))
  }
}

extension String {
  /// A URL from the host on, without slashes at its end.
  fileprivate var withoutScheme: String {
    var rest = Substring(self).utf8
    if let start = firstRange(of: "//") { rest = self[start.upperBound...].utf8 }
    while rest.last == UInt8(ascii: "/") { rest.removeLast() }
    return String(Substring(rest))
  }

  /// Host and port of a URL.
  fileprivate var host: Substring {
    guard let start = firstRange(of: "//") else { return self[...] }
    // This works on scalars: each of these may form one character with what follows.
    let rest = self[start.upperBound...].unicodeScalars
    return Substring(rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" })
  }
}
