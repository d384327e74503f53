import MMLogFormat
import TestSupport
import Testing

@Suite struct TimestampTests {
  @Test("its description is RFC 3339 to the nanosecond")
  func descriptionIsRFC3339() {
    #expect("\(TestLog.epoch + 123_456_789)" == "2025-11-21T09:00:00.123456789Z")
    #expect("\(Timestamp.zero)" == "1970-01-01T00:00:00.000000000Z")
    #expect("\(Timestamp(-1))" == "1969-12-31T23:59:59.999999999Z")
    #expect("\(Timestamp.distantPast)" == "1677-09-21T00:12:43.145224192Z")
    #expect("\(Timestamp.distantFuture)" == "2262-04-11T23:47:16.854775807Z")
  }

  @Test("what was added can be taken away, and is the distance")
  func advancingAndDistance() {
    let time = TestLog.epoch
    for span in [Duration.zero, .nanoseconds(1), .seconds(-5), .milliseconds(1500)] {
      #expect(time + span - span == time)
      #expect(time.duration(to: time + span) == span && (time + span) - time == span)
      #expect((time < time + span) == (span > .zero))
    }
  }

  @Test("no time is before the first or after the last")
  func saturates() {
    let spans: [Duration] = [.nanoseconds(1), .seconds(Int64.max), .init(attoseconds: .max)]
    for span in spans {
      #expect(Timestamp.distantFuture + span == .distantFuture)
      #expect(Timestamp.distantPast - span == .distantPast)
    }
    let all = Timestamp.distantPast.duration(to: .distantFuture)
    #expect(Timestamp.distantPast + all == .distantFuture)
    #expect(Timestamp.distantFuture - all == .distantPast)
  }

  @Test("parts of a nanosecond are cut off")
  func cutsParts() {
    let span = Duration(attoseconds: 1_999_999_999)
    #expect(Timestamp(5) + span == 6 && Timestamp(5) - span == 4)
  }
}
