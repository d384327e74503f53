import MMLogSystem

/// Two clocks at one moment.
package struct Moment: Equatable, Sendable {
  /// Nanoseconds since 1970, as people count them: may be set forth and back.
  package var wall: Int64
  /// Nanoseconds since the machine was started, in suspend too.
  package var elapsed: UInt64

  package init(wall: Int64, elapsed: UInt64) {
    self.wall = wall
    self.elapsed = elapsed
  }

  package static var now: Moment { Moment(wall: Clock.realtime(), elapsed: Clock.sinceBoot()) }
}
