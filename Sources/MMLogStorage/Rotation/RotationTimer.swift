package import MMLogFormat
import MMLogSystem

/// Reports when an archive has reached its age or its time by the calendar.
package struct RotationTimer: Sendable {
  private let begun: Moment
  /// How old the archive was when the timer was started.
  private let ageBefore: Duration
  /// From when on the next time by the calendar is searched for.
  private var anchor: Timestamp
  private var boundary: (calendar: Rotation.Calendar, time: Timestamp)?

  /// Starts the timer of an archive.
  ///
  /// - Parameters:
  ///   - created: When the archive was begun, as its file header says.
  ///   - now: When the timer is started: later than `created` if another process began the archive.
  package init(created: Timestamp, now: Moment) {
    begun = now
    // The clock may have been set back since.
    ageBefore = max(.zero, now.wall - created)
    anchor = min(created, now.wall)
  }

  /// Why the archive is to be closed now, or nil if it is not.
  ///
  /// - Parameter size: Its size in bytes.
  package mutating func reason(_ rotation: Rotation, size: Int, now: Moment) -> Rotation.Reason? {
    if let limit = rotation.size, size >= limit { return .size }
    let age = ageBefore + .nanoseconds(now.elapsed &- begun.elapsed)
    if let limit = rotation.age, age >= limit { return .age }
    guard let calendar = rotation.calendar else { return nil }
    return now.wall >= nextTime(calendar, now.wall) ? .calendar : nil
  }

  private mutating func nextTime(_ calendar: Rotation.Calendar, _ now: Timestamp) -> Timestamp {
    // A clock that is set back by a year must not make an archive of a year.
    let isSetBack = now < anchor
    anchor = min(anchor, now)
    if let boundary, boundary.calendar == calendar, !isSetBack { return boundary.time }
    let rules = ZoneRules(named: calendar.zone) ?? .utc
    let second = calendar.next(
      after: anchor.nanosecondsSince1970.flooredQuotient(by: 1_000_000_000), rules)
    let time = Timestamp.zero + .seconds(second)
    boundary = (calendar, time)
    return time
  }
}
