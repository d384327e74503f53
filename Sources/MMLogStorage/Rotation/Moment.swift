package import MMLogFormat
import MMLogSystem

/// Two clocks at one moment.
package struct Moment: Equatable, Sendable {
  /// Wall time, which may be set forward and back.
  package var wall: Timestamp
  /// Nanoseconds since the machine was started, time in suspension included.
  package var elapsed: UInt64

  package init(wall: Timestamp, elapsed: UInt64) {
    self.wall = wall
    self.elapsed = elapsed
  }

  package static var now: Moment { Moment(wall: .now, elapsed: Clock.sinceBoot()) }
}
