package import MMLogSystem

/// The part of a store's configuration that can be changed while the store is open. The store's
/// directory has it, too, for tools.
public struct StoreSettings: Equatable, Sendable {
  /// When archives are closed.
  public var rotation: Rotation
  /// What is kept.
  public var retention: Retention

  package init(rotation: Rotation, retention: Retention = Retention()) {
    (self.rotation, self.retention) = (rotation, retention)
  }

  /// Why these settings cannot be used, or nil if they can.
  package var problem: String? { rotation.problem ?? retention.problem }
}

/// The file of a store's settings (FORMAT.md, 9).
extension StoreSettings {
  /// The maximum number of bytes that are read.
  private static let longestFile = 4096

  /// The settings that the store of a name has noted in a directory; nil if it has noted none, or
  /// none that can be used.
  package init?(of store: String, in directory: borrowing Directory) throws(SystemError) {
    let name = FileNames.settings(of: store)
    guard let fields = try directory.fields(of: name, atMost: Self.longestFile) else { return nil }
    // A file of ours has at least the settings that are always noted.
    var isBroken = !fields.keys.contains {
      $0.hasPrefix("retention.") || $0.hasPrefix("rotation.")
    }
    func value<Value>(_ key: String, _ value: (String) -> Value?) -> Value? {
      guard let text = fields[key] else { return nil }
      let value = value(text)
      if value == nil { isBroken = true }
      return value
    }
    func number(_ key: String) -> Int? { value(key) { Int($0) } }
    func duration(_ key: String) -> Duration? { number(key).map { .nanoseconds($0) } }
    self.init(
      rotation: Rotation(
        size: number("rotation.size"), age: duration("rotation.age"),
        calendar: value("rotation.calendar") { Rotation.Calendar(noted: $0) }))
    retention.count = number("retention.count")
    retention.totalSize = number("retention.totalSize")
    retention.age = duration("retention.age")
    retention.freeSpace = value("retention.freeSpace") { Retention.FreeSpace(noted: $0) }
    retention.minimumSize = number("retention.minimumSize") ?? retention.minimumSize
    retention.crashes = number("retention.crashes") ?? retention.crashes
    retention.unsentSize = number("retention.unsentSize")
    retention.unsentAge = duration("retention.unsentAge")
    if isBroken || problem != nil { return nil }
  }

  /// Notes the settings in a directory.
  package func note(for store: String, in directory: borrowing Directory) throws(SystemError) {
    var fields = [
      "retention.minimumSize": "\(retention.minimumSize)",
      "retention.crashes": "\(retention.crashes)",
    ]
    fields["rotation.size"] = rotation.size.map { "\($0)" }
    fields["rotation.age"] = rotation.age.map { "\($0.nanoseconds)" }
    fields["rotation.calendar"] = rotation.calendar?.noted
    fields["retention.count"] = retention.count.map { "\($0)" }
    fields["retention.totalSize"] = retention.totalSize.map { "\($0)" }
    fields["retention.age"] = retention.age.map { "\($0.nanoseconds)" }
    fields["retention.freeSpace"] = retention.freeSpace?.noted
    fields["retention.unsentSize"] = retention.unsentSize.map { "\($0)" }
    fields["retention.unsentAge"] = retention.unsentAge.map { "\($0.nanoseconds)" }
    try directory.store(fields, in: FileNames.settings(of: store))
  }
}

extension Retention.FreeSpace {
  /// So many bytes, or a fraction, which has a point.
  fileprivate var noted: String {
    switch self {
    case .bytes(let bytes): "\(bytes)"
    case .fraction(let part): "\(part)"
    }
  }

  fileprivate init?(noted: String) {
    if let bytes = Int(noted) {
      self = .bytes(bytes)
    } else if let part = Double(noted) {
      self = .fraction(part)
    } else {
      return nil
    }
  }
}

extension Rotation.Calendar {
  /// Hour, minute, period and zone: `3 30 day Europe/Berlin`, `0 5 hour UTC`, `3 30 1 UTC` for the
  /// second day of the week.
  fileprivate var noted: String {
    let name =
      switch period {
      case .hour: "hour"
      case .day: "day"
      case .week(let weekday): "\(weekday.rawValue)"
      }
    return "\(hour) \(minute) \(name) \(zone)"
  }

  fileprivate init?(noted: String) {
    let parts = noted.split(separator: " ", maxSplits: 3)
    guard parts.count == 4, let hour = Int(parts[0]), let minute = Int(parts[1]) else { return nil }
    let zone = String(parts[3])
    switch (parts[2], Int(parts[2]).flatMap(Weekday.init(rawValue:))) {
    case ("hour", _): self = .hourly(minute: minute, in: zone)
    case ("day", _): self = .daily(hour: hour, minute: minute, in: zone)
    case (_, let weekday?): self = .weekly(on: weekday, hour: hour, minute: minute, in: zone)
    default: return nil
    }
  }
}
