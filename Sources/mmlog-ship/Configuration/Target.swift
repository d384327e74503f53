import MMLogDestinations
import MMLogFormat
import MMLogReader
import MMLogShipping

/// A destination with its name, and the settings for shipping to it.
struct Target {
  /// The name of its cursor in each directory.
  var name: String
  var settings: DestinationSettings
  var shipping = Shipper.Configuration()
  /// Whether its user has named it; else its name is made from the URL's host.
  let isNamed: Bool
  /// The settings of shipping that were given.
  private var given: Set<String> = []

  /// A setting of shipping, which does not belong to a kind of destination.
  struct Setting: Sendable {
    let name: String
    let placeholder: String
    /// Whether it may be given more than once.
    var isRepeatable = false
    /// Whether destinations of whole archives have it, too.
    var isOfArchives = false
    let help: String
    /// Sets the value, which is last. The text before it is the setting's name, for errors.
    let set: @Sendable (inout Target, String, String) throws -> Void
  }

  /// The settings of shipping.
  static let shippingSettings: [Setting] = [
    Setting(name: "level", placeholder: "LEVEL", help: "Only records of that level or above.") {
      guard let level = Level(usualName: $2) else {
        throw SettingError("'\($1)' takes trace, debug, info, notice, warning, error or critical")
      }
      $0.shipping.filter.minimumLevel = level
    },
    Setting(
      name: "only-label", placeholder: "LABEL", isRepeatable: true,
      help: "Only records of that label; * stands for any characters."
    ) { $0.shipping.filter.labels.append($2) },
    Setting(
      name: "where", placeholder: "CONDITION", isRepeatable: true,
      help: "Only records whose fields fulfill the condition of 'mmlog-decode --where'."
    ) { $0.shipping.filter.conditions.append(try FieldCondition($2)) },
    Setting(
      name: "add-field", placeholder: "NAME=VALUE", isRepeatable: true,
      help: "A field that each record gets, unless it has it."
    ) {
      let (key, text) = try pair($1, $2)
      $0.shipping.edits.append(.add(key, .string(Array(text.utf8))))
    },
    Setting(
      name: "drop-field", placeholder: "NAME", isRepeatable: true,
      help: "A field that is dropped, also where it is the session's."
    ) { $0.shipping.edits.append(.drop($2)) },
    Setting(
      name: "rename-field", placeholder: "NAME=NEW", isRepeatable: true,
      help: "A field that gets another name, also where it is the session's."
    ) {
      let (old, new) = try pair($1, $2)
      $0.shipping.edits.append(.rename(old, to: new))
    },
    Setting(
      name: "hash-field", placeholder: "NAME", isRepeatable: true,
      help: "A field, also of the session, whose value is replaced by a hash without a key: if few "
        + "values are possible, anybody can find out which value it was."
    ) { $0.shipping.edits.append(.hash($2)) },
    Setting(
      name: "batch-records", placeholder: "N",
      help: "How many records a batch has at most. Default: 5000; 10000 for ClickHouse."
    ) { $0.shipping.maximumRecords = try number($1, $2, 1...1_000_000) },
    Setting(
      name: "batch-bytes", placeholder: "N",
      help: "How many bytes make a batch full. Default: 1048576."
    ) {
      $0.shipping.maximumBytes = try number($1, $2, 1024...64 << 20)
    },
    Setting(
      name: "batch-age", placeholder: "MILLISECONDS",
      help: "How long records wait for a full batch. Default: 0; 500 for ClickHouse."
    ) { $0.shipping.age = .milliseconds(try number($1, $2, 0...3_600_000)) },
    Setting(
      name: "records-per-second", placeholder: "N",
      help: "How many records are sent in a second at most, on average; no batch has more."
    ) { $0.shipping.recordsPerSecond = try number($1, $2, 1...Int.max) },
    Setting(
      name: "bytes-per-second", placeholder: "N",
      help: "How many bytes are sent in a second at most, on average; a batch is full with so many."
    ) { $0.shipping.bytesPerSecond = try number($1, $2, 1...Int.max) },
    Setting(
      name: "archive-interval", placeholder: "MILLISECONDS",
      help: "How often running processes are asked to archive."
    ) { $0.shipping.archiveInterval = .milliseconds(try number($1, $2, 10...86_400_000)) },
    Setting(
      name: "retry-limit", placeholder: "SECONDS", isOfArchives: true,
      help:
        "The longest pause between two tries. Default: 300; 3600 where the destination asks for it."
    ) {
      let longest = Duration.seconds(try number($1, $2, 1...86_400))
      let rule = RetryRule.forever(first: min(.seconds(1), longest), longest: longest)
      $0.shipping.retry = RetryRule { attempt in rule.delay(attempt).map { min($0, longest) } }
    },
  ]

  /// Makes a target of a URL.
  init(name: String?, url: String) throws(SettingError) {
    let url = try DestinationURL(url)
    (self.name, isNamed) = (name ?? url.name, name != nil)
    settings = DestinationSettings(url: url)
    if url.prefersLargeBatches {
      (shipping.maximumRecords, shipping.age) = (10_000, .milliseconds(500))
    }
    guard self.name.utf8.count <= 64, !self.name.isEmpty,
      self.name.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) })
    else {
      throw SettingError("a destination's name has 1 to 64 letters, digits, '-', '_' and '.'")
    }
  }

  /// Sets a setting of either kind.
  mutating func set(_ name: String, _ value: String) throws(SettingError) {
    guard let setting = Self.shippingSettings.first(where: { $0.name == name }) else {
      return try settings.set(name, value)
    }
    if settings.url.takesArchives, !setting.isOfArchives {
      throw SettingError(
        "'\(name)' is for destinations of records; whole archives are sent as they are")
    }
    if !given.insert(name).inserted, !setting.isRepeatable {
      throw SettingError("'\(name)' is given twice")
    }
    do { try setting.set(&self, name, value) } catch {
      throw error as? SettingError ?? SettingError("'\(name)': \(error)")
    }
  }

  private static func number(
    _ name: String, _ value: String, _ range: ClosedRange<Int>
  ) throws(SettingError) -> Int {
    guard let number = Int(value), range.contains(number) else {
      let maximum = range.upperBound == .max ? " on" : " to \(range.upperBound)"
      throw SettingError("'\(name)' takes a number from \(range.lowerBound)\(maximum)")
    }
    return number
  }

  private static func pair(
    _ name: String, _ value: String
  ) throws(SettingError) -> (String, String) {
    let parts = value.split(separator: "=", maxSplits: 1)
    guard parts.count == 2 else { throw SettingError("'\(name)' takes two texts with '=' between") }
    return (String(parts[0]), String(parts[1]))
  }
}
