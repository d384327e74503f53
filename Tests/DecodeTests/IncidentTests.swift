import Foundation
import TestSupport
import Testing

/// A service that is deployed three times, crashes, is killed and hangs.
@Suite struct IncidentTests {
  @Test("each question has its answer in one line")
  func eachQuestionHasItsAnswer() throws {
    let project = URL(fileURLWithPath: #filePath).pathComponents.dropLast(3).joined(separator: "/")
    let folder = TemporaryDirectory()
    let output = folder("answers")
    let script = try ChildProcess(
      "\(project)/Tools/incident",
      ["--programs", (tool as NSString).deletingLastPathComponent], output: output)
    let ending = script.wait(seconds: 120)
    let text = try String(contentsOfFile: output, encoding: .utf8)
    #expect(ending == .success, "\(text)")
  }
}
