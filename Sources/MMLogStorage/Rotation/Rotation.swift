import MMLogFormat
package import MMLogSystem

/// When an archive is closed and the next one begun: as soon as the first of these limits is
/// reached. Each archive starts afresh.
///
/// An archive also ends with its session. An archive without records is never begun, whatever the
/// limits say.
public struct Rotation: Equatable, Sendable {
  /// The size in bytes at which an archive is closed. An archive exceeds it by one frame, its index
  /// and the session's dictionary of log statements, labels and field names at most, unless it is
  /// mostly dictionary. Nil: never. Else from 4 KiB. Default: 64 MiB, which is some millions of
  /// records that a tool reads and an uploader sends in one go.
  ///
  /// Each archive has the dictionary at its beginning and at its end. The dictionary takes some
  /// kilobytes, and up to a few megabytes in a program with thousands of log statements, labels and
  /// field names. An archive that is mostly dictionary is not closed for its size: it stays open
  /// until half of it is something else, and so has up to three times the dictionary's size.
  ///
  /// An archive of half a million frames is closed in any case: otherwise its index would become
  /// too large to read.
  public var size: Int? = 64 << 20

  /// How old an archive may become, counted from when it was begun, across restarts. Nil: any age.
  /// Else from 1 second; default 24 hours, so that what a quiet service logs is handed on within a
  /// day.
  ///
  /// A change of the wall clock does not count; time in which the machine was suspended does. An
  /// archive is closed when it is old enough even if nothing is logged.
  public var age: Duration? = .seconds(86400)

  /// A time of the hour, day or week at which archives are closed. Default: none.
  public var calendar: Rotation.Calendar?

  /// Makes the limits that are used unless others are given.
  public init() {}

  /// Makes limits.
  public init(
    size: Int? = 64 << 20, age: Duration? = .seconds(86400), calendar: Rotation.Calendar? = nil
  ) {
    self.size = size
    self.age = age
    self.calendar = calendar
  }

  /// Why these limits cannot be used, or nil if they can.
  package var problem: String? {
    if let size, size < 4 << 10 {
      return "rotation.size is \(size): it must be at least 4 KiB, or nil"
    }
    if let age, age < .seconds(1) {
      return "rotation.age is \(age): it must be at least 1 second, or nil"
    }
    return calendar?.problem
  }
}

extension Rotation {
  /// A time by the calendar at which archives are closed.
  public struct Calendar: Equatable, Sendable {
    /// A day of the week.
    public enum Weekday: Int, CaseIterable, Sendable {
      /// The first day, 0.
      case sunday
      /// The day after Sunday.
      case monday
      /// The day after Monday.
      case tuesday
      /// The day after Tuesday.
      case wednesday
      /// The day after Wednesday.
      case thursday
      /// The day after Thursday.
      case friday
      /// The last day, 6.
      case saturday
    }

    /// How often.
    enum Period: Equatable {
      case hour
      case day
      case week(Weekday)
    }

    let period: Period
    let hour: Int
    let minute: Int
    /// The zone whose clocks say what time it is: `UTC`, or a name of the system's database such as
    /// `Europe/Berlin`.
    public let zone: String

    /// A time `minute` minutes after each full hour by the zone's clocks, also in an hour that the
    /// clocks show twice.
    public static func hourly(minute: Int = 0, in zone: String = "UTC") -> Self {
      Self(period: .hour, hour: 0, minute: minute, zone: zone)
    }

    /// A time of each day. A time that clocks show twice on a day counts once, the first time. For
    /// a time that they skip, the moment at which they skip it counts.
    public static func daily(hour: Int = 0, minute: Int = 0, in zone: String = "UTC") -> Self {
      Self(period: .day, hour: hour, minute: minute, zone: zone)
    }

    /// A time of one day of each week; as ``daily(hour:minute:in:)`` otherwise.
    public static func weekly(
      on weekday: Weekday, hour: Int = 0, minute: Int = 0, in zone: String = "UTC"
    ) -> Self {
      Self(period: .week(weekday), hour: hour, minute: minute, zone: zone)
    }

    /// Why there is no such time, or nil if there is.
    var problem: String? {
      guard (0...23).contains(hour), (0...59).contains(minute) else {
        return "there is no time of day \(hour):\(minute)"
      }
      guard ZoneRules(named: zone) != nil else {
        return
          "there is no time zone \"\(zone)\" in the system's database: "
          + "correct the name, or install tzdata"
      }
      return nil
    }

    /// The first such time after `moment`, both in seconds since 1970.
    package func next(after moment: Int64, _ rules: ZoneRules) -> Int64 {
      let step: Int64 = period == .hour ? 3600 : 86400
      let local = moment + rules.offset(at: moment)
      // Two steps back: the offset may have changed by a day at most, between then and the time
      // searched for.
      var unit = local.flooredQuotient(by: step) - 2 * 86400 / step
      while true {
        if isDue(onDay: unit) {
          let time = unit * step + Int64((period == .hour ? 0 : hour) * 3600 + minute * 60)
          let moments = rules.moments(showing: time).filter {
            // All hours that clocks show count, and none that they skip; each day counts once.
            period != .hour || $0 + rules.offset(at: $0) == time
          }
          let found = (period == .hour ? moments : Array(moments.prefix(1))).first { $0 > moment }
          if let found { return found }
        }
        unit += 1
      }
    }

    private func isDue(onDay day: Int64) -> Bool {
      guard case .week(let weekday) = period else { return true }
      // Day 0 was a Thursday.
      return ((day + 4) % 7 + 7) % 7 == Int64(weekday.rawValue)
    }
  }

  /// Why an archive was closed.
  @nonexhaustive
  public enum Reason: String, Sendable {
    /// It has reached its size.
    case size
    /// It has reached its age.
    case age
    /// It is time by the calendar.
    case calendar
    /// `LogStore.rotate(within:)` or a request to reopen the files.
    case request
    /// Someone renamed, removed or replaced the file, or the disk has failed to sync it several
    /// times in a row.
    case interference
    /// The store was closed, or a dead process's session was recovered.
    case end
  }
}
