import MMLogSystem
import Testing

@Suite struct DurationTests {
  @Test("a duration of more nanoseconds than there is a number for has the greatest, or the least")
  func saturates() {
    let longest = Duration.seconds(9_223_372_036)
    #expect((longest + .nanoseconds(854_775_807)).nanoseconds == .max)
    #expect((longest + .nanoseconds(999_999_999)).nanoseconds == .max)
    #expect(Duration.seconds(Int64.max).nanoseconds == .max)
    let shortest = Duration.seconds(-9_223_372_036)
    #expect((shortest - .nanoseconds(999_999_999)).nanoseconds == .min)
    #expect(Duration.seconds(Int64.min).nanoseconds == .min)
    let endless = Duration(secondsComponent: .max, attosecondsComponent: .max)
    #expect(endless.nanoseconds == .max && (.zero - endless).nanoseconds == .min)
    #expect(Duration.nanoseconds(-1_500_000_001).nanoseconds == -1_500_000_001)
  }
}
