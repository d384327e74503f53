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

  /// The settings of shipping, which do not belong to a kind of destination.
  static let shippingSettings: [(name: String, placeholder: String, help: String)] = [
    ("level", "LEVEL", "Only records of that level or above."),
    ("only-label", "LABEL", "Only records of that label; * stands for any characters."),
    (
      "where", "CONDITION",
      "Only records whose fields fulfill the condition of 'mmlog-decode --where'."
    ),
    ("add-field", "NAME=VALUE", "A field that each record gets, unless it has it."),
    ("drop-field", "NAME", "A field that is dropped, also where it is the session's."),
    ("rename-field", "NAME=NEW", "A field that gets another name, also where it is the session's."),
    (
      "hash-field", "NAME",
      "A field, also of the session, whose value is replaced by a hash without a key: if few "
        + "values are possible, anybody can find out which value it was."
    ),
    (
      "batch-records", "N",
      "How many records a batch has at most. Default: 5000; 10000 for ClickHouse."
    ),
    ("batch-bytes", "N", "How many bytes make a batch full. Default: 1048576."),
    (
      "batch-age", "MILLISECONDS",
      "How long records wait for a full batch. Default: 0; 500 for ClickHouse."
    ),
    (
      "records-per-second", "N",
      "How many records are sent in a second at most, on average; no batch has more."
    ),
    (
      "bytes-per-second", "N",
      "How many bytes are sent in a second at most, on average; a batch is full with so many."
    ),
    ("archive-interval", "MILLISECONDS", "How often running processes are asked to archive."),
    (
      "retry-limit", "SECONDS",
      "The longest pause between two tries. Default: 300; 3600 where the destination asks for it."
    ),
  ]

  /// The settings of shipping that may be given more than once.
  static let repeatable: Set = [
    "only-label", "where", "add-field", "drop-field", "rename-field", "hash-field",
  ]

  /// The only setting of shipping that destinations of whole archives have.
  static let archiveSetting = "retry-limit"

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
    let isOfShipping = Self.shippingSettings.contains { $0.name == name }
    if settings.url.takesArchives, isOfShipping, name != Self.archiveSetting {
      throw SettingError(
        "'\(name)' is for destinations of records; whole archives are sent as they are")
    }
    if isOfShipping, !given.insert(name).inserted, !Self.repeatable.contains(name) {
      throw SettingError("'\(name)' is given twice")
    }
    switch name {
    case "level":
      guard let level = Level(usualName: value) else {
        throw SettingError("'level' takes trace, debug, info, notice, warning, error or critical")
      }
      shipping.filter.minimumLevel = level
    case "only-label": shipping.filter.labels.append(value)
    case "where":
      do throws(FieldCondition.Invalid) {
        shipping.filter.conditions.append(try FieldCondition(value))
      } catch {
        throw SettingError("'where': \(error)")
      }
    case "add-field":
      let (key, text) = try Self.pair(name, value)
      shipping.edits.append(.add(key, .string(Array(text.utf8))))
    case "drop-field": shipping.edits.append(.drop(value))
    case "rename-field":
      let (old, new) = try Self.pair(name, value)
      shipping.edits.append(.rename(old, to: new))
    case "hash-field": shipping.edits.append(.hash(value))
    case "batch-records": shipping.maximumRecords = try Self.number(name, value, 1...1_000_000)
    case "batch-bytes": shipping.maximumBytes = try Self.number(name, value, 1024...64 << 20)
    case "batch-age":
      shipping.age = .milliseconds(try Self.number(name, value, 0...3_600_000))
    case "records-per-second": shipping.recordsPerSecond = try Self.number(name, value, 1...Int.max)
    case "bytes-per-second": shipping.bytesPerSecond = try Self.number(name, value, 1...Int.max)
    case "archive-interval":
      shipping.archiveInterval = .milliseconds(try Self.number(name, value, 10...86_400_000))
    case "retry-limit":
      let longest = Duration.seconds(try Self.number(name, value, 1...86_400))
      let rule = RetryRule.forever(first: min(.seconds(1), longest), longest: longest)
      shipping.retry = RetryRule { attempt in rule.delay(attempt).map { min($0, longest) } }
    default: try settings.set(name, value)
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
