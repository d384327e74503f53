import TestSupport
import CrashCampaign
import Glibc
import MMLogReader
import MMLogStorage
import MMLogSystem
import Testing

/// Two processes that log into one directory, close archives as fast as they can, and both delete
/// what is too much.
@Suite struct SharedDirectoryTests {
  private static let child = ChildProcess.path(of: "mmlog-crash-child")

  @Test("a thousand rolls of two processes hold the limit and lose nothing else")
  func aThousandRollsOfTwoProcessesHoldTheLimitAndLoseNothingElse() throws {
    let folder = TemporaryDirectory()
    let logs = folder("logs")
    mkdir(logs, 0o700)
    let session = "000102030405060708090a0b0c0d0e0f"
    let others = [
      "notes.txt", "crash-20200101T000000Z-\(session)-000001.mmlog", "crash.mmlog", "x.state",
    ]
    for name in others { folder.put("logs/\(name)", Array("precious".utf8)) }
    let children = try (1...2).map { number in
      folder.put("page\(number)", [UInt8](repeating: 0, count: 1 << 16))
      return try ChildProcess(
        Self.child,
        [
          "--directory", logs, "--page", folder("page\(number)"), "--seed", "\(number)",
          "--rolls", "500", "--keep", "20",
        ], errors: folder("errors\(number)"))
    }
    for child in children { #expect(child.wait() == .exited(0), "\(child.complaints)") }
    for name in others { #expect(Folder.text("\(logs)/\(name)") == "precious", "\(name)") }
    // Twenty with records, at most; a session's end does not count.
    var records: [String: [String]] = [:]
    for item in LogReader(paths: [logs]) {
      switch item {
      case .record(let record): records["\(record.session.id)", default: []].append(record.message)
      case .corruption(let corruption): Issue.record("\(corruption)")
      default: break
      }
    }
    let count = records.values.reduce(0) { $0 + $1.count }
    #expect((1...20).contains(count), "\(count) records, one in each archive")
    // What is left of a process is its newest: those that were marked went first, and no other was
    // passed over.
    for (session, messages) in records {
      let sequences = messages.compactMap { Int($0.split(separator: " ")[1]) }
      #expect(sequences.last == 500, "\(session): \(sequences)")
      let expected = (sequences[0]...500).filter { $0 % 7 != 0 || sequences.contains($0) }
      #expect(sequences == expected.filter { $0 <= sequences[sequences.count - 1] }, "\(session)")
    }
  }

  #if DEBUG
    @Test(
      "a death where archives are deleted and marked leaves what the next process makes right",
      arguments: TestPoint.allCases.filter { $0.isOfMaintenance && $0 != .stateSidecarWritten })
    func death(at point: TestPoint) throws {
      let folder = TemporaryDirectory()
      let logs = folder("logs")
      mkdir(logs, 0o700)
      folder.put("page", [UInt8](repeating: 0, count: 1 << 16))
      let arguments = ["--directory", logs, "--page", folder("page"), "--keep", "5", "--rolls"]
      let dying = try ChildProcess(
        Self.child, arguments + ["100", "--die-at", "\(point):3"],
        errors: folder("errors"))
      #expect(dying.wait() == .killed(SIGKILL), "\(dying.complaints)")
      // One to recover what is left, and another, since the newest crash keeps its neighbors.
      for _ in 0..<2 {
        let next = try ChildProcess(
          Self.child, arguments + ["50"], errors: folder("errors"))
        #expect(next.wait() == .exited(0), "\(next.complaints)")
      }
      var count = 0
      for item in LogReader(paths: [logs]) {
        switch item {
        case .record: count += 1
        case .corruption(let corruption): Issue.record("\(corruption)")
        default: break
        }
      }
      #expect((1...5).contains(count), "\(count) records, one in each archive")
      let trash = try Directory.open("\(logs)/.mmlog-trash").names()
      #expect(trash.isEmpty, "\(trash)")
    }
  #endif
}
