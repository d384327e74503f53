import MMLogFormat
import Testing

@Suite struct ControlRequestTests {
  @Test("a request that is not answered is asked for again with the next one")
  func nextRequest() {
    let none = ControlRequest(word: 0)
    let answer = ControlAnswer(word: 0)
    let first = none.next(.capture, after: answer)
    #expect(first == ControlRequest(ordinal: 1, .capture))
    let second = first.next(.rotate, after: answer)
    #expect(second == ControlRequest(ordinal: 2, [.capture, .rotate]))
    let done = ControlAnswer(ordinal: 2, errorNumber: 28)
    #expect(second.next([], after: done) == ControlRequest(ordinal: 3, []))
    #expect(done.answers(1) && done.answers(2) && !done.answers(3))
  }

  @Test("both are one word, and ordinals begin anew behind the greatest")
  func words() {
    let request = ControlRequest(ordinal: .max, [.sync, .capture])
    #expect(request.word == 0x0000_0005_FFFF_FFFF && ControlRequest(word: request.word) == request)
    let answer = ControlAnswer(ordinal: 1, errorNumber: 5)
    #expect(answer.word == 0x0000_0005_0000_0001 && ControlAnswer(word: answer.word) == answer)
    #expect(request.next(.rotate, after: answer) == ControlRequest(ordinal: 0, .rotate))
    #expect(answer.answers(.max) && !ControlAnswer(ordinal: .max, errorNumber: 0).answers(1))
  }
}
