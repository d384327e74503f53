import MMLogFormat
package import MMLogShipping

/// A destination as a user has configured it: its URL, and settings by name.
package struct DestinationSettings: Sendable {
  /// Where the destination is.
  package let url: DestinationURL
  private var values: [String: [String]] = [:]

  /// A destination with the settings' defaults.
  package init(url: DestinationURL) { self.url = url }

  /// A setting by name.
  package struct Setting: Sendable {
    /// What it is called.
    package let name: String
    /// What its value is called.
    package let placeholder: String
    /// Which kinds of destinations have it; empty: all.
    package let kinds: [String]
    /// Whether it may be given more than once.
    package let isRepeatable: Bool
    /// What it does: a sentence.
    package let help: String
  }

  /// All settings.
  package static let all: [Setting] = [
    setting(
      "token-file", "FILE", web, "The file of a token that is sent as 'Authorization: Bearer'."),
    setting("user", "NAME", web, "The user of basic authentication."),
    setting("password-file", "FILE", web, "The file of the user's password."),
    setting(
      "header", "NAME:VALUE", web, repeatable: true, "A header of each request, which is no secret."
    ),
    setting(
      "header-file", "NAME:FILE", web, "A header whose value, a secret, is in a file."),
    setting(
      "ca-file", "FILE", web + ["s3"],
      "The certificates that are trusted, in PEM, in place of the system's."),
    setting("certificate-file", "FILE", web + ["s3"], "The client's certificate, in PEM."),
    setting(
      "key-file", "FILE", web + ["s3"], "Its private key, in PEM, if that is in another file."),
    setting("passphrase-file", "FILE", web + ["s3"], "The file of the private key's passphrase."),
    setting(
      "proxy", "URL", web + ["s3"],
      "The proxy, in place of what http_proxy, https_proxy and all_proxy say; 'none' for none."),
    setting("proxy-user", "NAME", web + ["s3"], "The proxy's user."),
    setting("proxy-password-file", "FILE", web + ["s3"], "The file of the proxy's password."),
    setting(
      "unix-socket", "PATH", web, "The Unix socket to connect to in place of the URL's host."),
    setting(
      "connect-timeout", "SECONDS", web + ["s3"], "How long a connection may take. Default: 10."),
    setting(
      "timeout", "SECONDS", [],
      "How long a request, a command or a batch may take. Default: 60; 3600 for whole archives."),
    setting(
      "compression", "gzip|none", web.filter { $0 != "put" },
      "How bodies are compressed. Default: gzip."),
    setting(
      "spans", "yes|no", ["otlp"], "Whether spans are sent to /v1/traces, too. Default: yes."),
    setting(
      "table", "NAME", ["clickhouse"], "The table, with its database before it. Default: logs."),
    setting(
      "deduplication", "yes|no", ["clickhouse"],
      "Whether inserts have tokens; servers before 22.2 know none. Default: yes."),
    setting(
      "attributes", "map|json", ["clickhouse"],
      "Whether columns of attributes are maps, or texts with JSON. Default: map."),
    setting(
      "index", "NAME", ["elasticsearch"], "The index or data stream. Default: logs-mmlog-default."),
    setting("stream-label", "NAME=VALUE", ["loki"], repeatable: true, "A label of the streams."),
    setting("property", "NAME=VALUE", ["kafka"], repeatable: true, "A property of librdkafka."),
    setting(
      "property-file", "NAME=FILE", ["kafka"], repeatable: true,
      "A property of librdkafka whose value, a secret, is in a file."),
    setting("region", "NAME", ["s3"], "The bucket's region. Default: us-east-1."),
    setting(
      "endpoint", "URL", ["s3"], "The server, for what is not Amazon's; the bucket is behind it."),
    setting(
      "credentials-file", "FILE", ["s3"],
      "The file with ACCESS-KEY-ID:SECRET-KEY, or with :TOKEN behind it."),
  ]

  private static let web = ["otlp", "lines", "clickhouse", "elasticsearch", "loki", "put"]

  private static func setting(
    _ name: String, _ placeholder: String, _ kinds: [String], repeatable: Bool = false,
    _ help: String
  ) -> Setting {
    Setting(
      name: name, placeholder: placeholder, kinds: kinds, isRepeatable: repeatable, help: help)
  }

  /// Sets a setting by its name.
  ///
  /// - Throws: A sentence, for a setting that does not exist, that another kind of destination has,
  ///   or that is given twice; and for a value that the setting does not take.
  package mutating func set(_ name: String, _ value: String) throws(SettingError) {
    guard let setting = Self.all.first(where: { $0.name == name }) else {
      throw SettingError("there is no setting '\(name.prefix(40))'")
    }
    guard setting.kinds.isEmpty || setting.kinds.contains(kind) else {
      throw SettingError(
        "'\(name)' is a setting of \(setting.kinds.joined(separator: ", ")), not of \(kind)")
    }
    guard setting.isRepeatable || values[name] == nil else {
      throw SettingError("'\(name)' is given twice")
    }
    guard !value.isEmpty else { throw SettingError("'\(name)' has no value") }
    let choices = setting.placeholder.split(separator: "|")
    guard choices.count < 2 || choices.contains(Substring(value)) else {
      throw SettingError("'\(name)' takes \(choices.joined(separator: " or "))")
    }
    if setting.placeholder == "SECONDS" {
      guard let seconds = Int64(value), 1...86_400 ~= seconds else {
        throw SettingError("'\(name)' takes a number of seconds from 1 to 86400")
      }
    }
    for separator in [":", "="] where setting.placeholder.dropFirst(4).hasPrefix(separator) {
      guard value.split(separator: separator, maxSplits: 1).count == 2 else {
        throw SettingError("'\(name)' takes \(setting.placeholder)")
      }
    }
    if let file = Self.fileFor(secretIn: name, value) {
      throw SettingError("a secret stands in a file, where others do not see it: set '\(file)'")
    }
    if name == "stream-label" { try checkLabel(value) }
    // Without a report for each message, nobody knows when a batch is delivered.
    let property = value.prefix { $0 != "=" }.trimmed()
    if name.hasPrefix("property"), property == "delivery.report.only.error" {
      throw SettingError("each message needs a report: leave out 'delivery.report.only.error'")
    }
    values[name, default: []].append(value)
  }

  /// Loki answers 400 to a label that it does not accept, as if records were to blame.
  private func checkLabel(_ value: String) throws(SettingError) {
    let label = value.prefix { $0 != "=" }.trimmed()
    let isName = label.utf8.enumerated().allSatisfy { index, byte in
      let isLetter = 65...90 ~= byte || 97...122 ~= byte || byte == UInt8(ascii: "_")
      return isLetter || index > 0 && 48...57 ~= byte
    }
    guard isName, !label.isEmpty else {
      throw SettingError(
        "a label's name has letters, digits and '_', and no digit at its beginning")
    }
    guard !LokiDestination.ownLabels.contains(String(label)) else {
      throw SettingError("each stream has the label '\(label)' already")
    }
    guard !pairs("stream-label", "=").contains(where: { $0.name == label }) else {
      throw SettingError("the label '\(label)' is given twice")
    }
  }

  /// Returns the setting that takes the secret from a file; nil if the value is no secret.
  private static func fileFor(secretIn name: String, _ value: String) -> String? {
    switch name {
    case "proxy", "endpoint":
      guard value.unicodeScalars.contains("@") else { return nil }
      return name == "proxy" ? "proxy-password-file" : "credentials-file"
    case "header":
      let header = value.prefix { $0 != ":" }.trimmed().lowercased()
      let parts = [
        "auth", "key", "token", "secret", "password", "cookie", "credential", "signature", "dsn",
        "x-honeycomb-team",
      ]
      // A URL with a user or a password is a secret, whatever the header is called.
      return hasURLWithUser(value) || parts.contains { header.contains($0) } ? "header-file" : nil
    case "property", "property-file":
      let property = value.prefix { $0 != "=" }.trimmed().lowercased()
      // The key has many lines, and librdkafka reads its file by itself.
      if property == "ssl.key.pem" { return "property = ssl.key.location=FILE" }
      let parts = ["password", "secret", "jaas.config"]
      return name == "property" && parts.contains { property.contains($0) } ? "property-file" : nil
    default: return nil
    }
  }

  /// Whether there is a user before the host of a URL in a value, however much stands around it.
  private static func hasURLWithUser(_ value: String) -> Bool {
    var rest = Array(value.utf8)[...]
    while let start = rest.firstRange(of: "//".utf8) {
      rest = rest[start.upperBound...]
      let authority = rest.prefix { !"/?# ;,)\"'".utf8.contains($0) }
      if authority.contains(UInt8(ascii: "@")) { return true }
    }
    return false
  }

  private var kind: String {
    switch url {
    case .otlp: "otlp"
    case .lines: "lines"
    case .clickHouse: "clickhouse"
    case .elasticsearch: "elasticsearch"
    case .loki: "loki"
    case .put: "put"
    case .kafka: "kafka"
    case .s3: "s3"
    case .command: "exec"
    }
  }

  // MARK: - What they say

  private func value(_ name: String) -> String? { values[name]?.last }

  private func seconds(_ name: String) -> Duration? {
    value(name).flatMap(Int64.init).map { .seconds($0) }
  }

  private func secret(_ name: String) -> Secret? { value(name).map(Secret.init(path:)) }

  private var table: String { value("table") ?? "logs" }

  private var region: String { value("region") ?? "us-east-1" }

  private var index: String { value("index") ?? "logs-mmlog-default" }

  /// A hash of where records are sent, which distinguishes destinations that have the same name by
  /// default.
  package var target: String {
    let tenant = pairs("header", ":").filter { $0.name.lowercased() == "x-scope-orgid" }
    // Without a socket, the hash is that of earlier versions, which cursors have.
    let socket = value("unix-socket").map { ["unix-socket \($0)"] } ?? []
    let parts = [kind, url.place, table, index] + tenant.map(\.value) + socket
    return parts.joined(separator: "\n").utf8.fnv1a.allHexDigits
  }

  /// Pairs of name and value.
  private func pairs(_ name: String, _ separator: Character) -> [(name: String, value: String)] {
    (values[name] ?? []).map { text in
      let parts = text.split(separator: separator, maxSplits: 1)
      return (String(parts[0].trimmed()), String(parts[1].trimmed()))
    }
  }

  private func http() throws(SettingError) -> HTTPSettings {
    for (name, other) in [
      ("user", "password-file"), ("password-file", "user"),
      ("proxy-user", "proxy-password-file"), ("proxy-password-file", "proxy-user"),
      ("key-file", "certificate-file"), ("passphrase-file", "certificate-file"),
    ] where value(name) != nil && value(other) == nil {
      throw SettingError("'\(name)' needs '\(other)'")
    }
    var http = HTTPSettings()
    http.credentials = try credentials()
    http.headers = pairs("header", ":")
    http.trustedCertificates = value("ca-file")
    http.certificate = value("certificate-file")
    http.certificateKey = value("key-file")
    http.certificatePassphrase = secret("passphrase-file")
    http.proxy = value("proxy").map { $0 == "none" ? "" : $0 }
    if let user = value("proxy-user"), let password = secret("proxy-password-file") {
      http.proxyCredentials = (user, password)
    }
    http.unixSocket = value("unix-socket")
    if let timeout = seconds("connect-timeout") { http.connectTimeout = timeout }
    if let timeout = seconds("timeout") { http.timeout = timeout }
    http.compresses = value("compression") != "none"
    return http
  }

  private func credentials() throws(SettingError) -> HTTPSettings.Credentials {
    var all: [HTTPSettings.Credentials] = []
    if let token = secret("token-file") { all.append(.bearer(token)) }
    if let user = value("user"), let password = secret("password-file") {
      all.append(.basic(user: user, password: password))
    }
    if let (name, path) = pairs("header-file", ":").first {
      all.append(.header(name, Secret(path: path)))
    }
    if let keys = secret("credentials-file") {
      all.append(.aws(keys: keys, region: region, service: "s3"))
    }
    guard all.count < 2 else {
      throw SettingError("give one of token-file, user, header-file, not several")
    }
    return all.first ?? .none
  }

  /// What a destination takes.
  package enum Destination: Sendable {
    /// Records.
    case records(any LogDestination)
    /// Whole archives.
    case archives(any ArchiveDestination)
  }

  /// Makes the destination.
  ///
  /// - Throws: a sentence where settings contradict each other.
  package func destination() throws(SettingError) -> Destination {
    switch url {
    case .otlp(let url):
      return .records(
        OTLPDestination(url: url, sendsSpans: value("spans") != "no", settings: try http()))
    case .lines(let url): return .records(LinesDestination(url: url, settings: try http()))
    case .clickHouse(let url):
      return .records(
        ClickHouseDestination(
          url: url, table: table, deduplicates: value("deduplication") != "no",
          hasJSON: value("attributes") == "json", settings: try http()))
    case .elasticsearch(let url):
      return .records(
        ElasticsearchDestination(
          url: url, index: index, settings: try http()))
    case .loki(let url):
      return .records(
        LokiDestination(url: url, labels: pairs("stream-label", "="), settings: try http()))
    case .command(let command):
      return .records(
        CommandDestination(command: command, timeout: seconds("timeout") ?? .seconds(60)))
    case .kafka(let brokers, let topic): return .records(kafka(brokers, topic))
    case .put(let url):
      return .archives(PutDestination(url: url, settings: try archiveHTTP()))
    case .s3(let bucket, let prefix): return .archives(try s3(bucket, prefix))
    }
  }

  private func kafka(_ brokers: String, _ topic: String) -> KafkaDestination {
    var configuration = KafkaDestination.Configuration(brokers: brokers, topic: topic)
    configuration.properties = pairs("property", "=")
    configuration.secrets = pairs("property-file", "=").map { ($0, Secret(path: $1)) }
    configuration.timeout = seconds("timeout") ?? .seconds(60)
    return KafkaDestination(configuration)
  }

  private func s3(_ bucket: String, _ prefix: String) throws(SettingError) -> S3Destination {
    let settings = try archiveHTTP()
    if case .none = settings.credentials {
      throw SettingError("an s3 destination needs 'credentials-file'")
    }
    let server = value("endpoint").map { "\($0)/\(bucket)" }
    return S3Destination(
      bucket: server ?? "https://\(bucket).s3.\(region).amazonaws.com", prefix: prefix,
      settings: settings)
  }

  /// Returns the settings for whole archives: a large archive takes long.
  private func archiveHTTP() throws(SettingError) -> HTTPSettings {
    var settings = try http()
    settings.timeout = seconds("timeout") ?? .seconds(3600)
    return settings
  }
}
