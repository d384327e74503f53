import Foundation
import TestSupport
import Testing

/// `mmlog-demo`.
@Suite struct DemoTests {
  @Test("the demo shows the end of its log, and does not start where an earlier one has been")
  func twice() throws {
    let folder = TemporaryDirectory()
    let program = ChildProcess.path(of: "mmlog-demo")
    let line = "'\(program)' -s 1 -d '\(folder.path)/de'\\''mo'"
    let first = try shell(line, folder: folder)
    #expect(first.status == 0, "\(first)")
    #expect(first.output.contains(", lost 0, duplicated 0"), "\(first)")
    let end = first.output.components(separatedBy: "mmlog-decode says of the end:\n").last ?? ""
    #expect(end.prefix { $0 != "\n" }.contains("orders.matching"), "\(first)")
    let second = try shell(line, folder: folder)
    #expect(second.status == 2 && second.errors.contains("de'mo' is not empty"), "\(second)")
    #expect(second.output.isEmpty)
  }
}
