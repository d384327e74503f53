import Foundation
import MMLog
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

/// `mmlog-ship send`, as somebody calls it who wants some of the records, or has an odd file.
@Suite("mmlog-ship send") struct SendingProgramTests {
  private let folder = TemporaryDirectory()
  private let server: TestReceiver

  init() throws {
    server = try TestReceiver()
    for session in ["first", "second"] {
      let store = try LogStore(directory: folder("logs"), name: session)
      store.logger(label: "orders").info("of the \(session)")
      try store.close()
    }
  }

  private func send(
    _ arguments: String...
  ) throws -> (status: Ending, complaints: String) {
    let program = try ChildProcess(
      ChildProcess.path(of: "mmlog-ship"), arguments, output: folder("said"))
    return (program.wait(), program.complaints)
  }

  private var consumers: [String] {
    get throws { try ConsumerFile.consumers(in: Directory.open(folder("logs"))) }
  }

  @Test("a selection is sent once, and no archive waits for its cursor")
  func selection() throws {
    for _ in 1...2 {
      let result = try send("--to", server.url, "--since", "1h", folder("logs"))
      #expect(result.status == .success, "\(result.complaints)")
      #expect(try server.requests.count == 2 && consumers.count == 1)
    }
    #expect(try UnsentArchives(in: Directory.open(folder("logs"))).isEmpty)
    _ = try send("--once", "--to", server.url, folder("logs"))
    #expect(try !UnsentArchives(in: Directory.open(folder("logs"))).isEmpty)
  }

  @Test("a session that is not there is said")
  func noSuchSession() throws {
    let result = try send("--to", server.url, "--session", "zz", folder("logs"))
    #expect(result.status == .exited(2) && result.complaints.contains("no such session"))
  }

  @Test(
    "an archive that cannot be read is said, and all was not sent",
    arguments: ["--once", "--check"])
  func unreadableArchive(option: String) throws {
    let archives = try Catalog(of: folder("logs"), store: nil).scan()
    let path = try #require(archives.first?.path)
    let file = try FileHandle(forUpdating: URL(filePath: path))
    try file.seek(toOffset: 8)
    try file.write(contentsOf: [9])
    let result = try send("--to", server.url, option, folder("logs"))
    #expect(result.status == .exited(1) && result.complaints.contains(path))
  }

  @Test("files whose lines end as on Windows are read like others")
  func otherLineEnds() throws {
    let token = folder.put("token", "secret\r\n")
    let configuration = folder.put(
      "ship.conf",
      [
        "[destination receiver]", "url = \(server.url)", "token-file = \(token)", "",
        "[directory \(folder("logs"))]", "to = receiver", "",
      ].joined(separator: "\r\n"))
    let result = try send("--once", "--config", configuration)
    #expect(result.status == .success, "\(result.complaints)")
    #expect(
      try server.requests.map { $0.headers["authorization"] } == ["Bearer secret", "Bearer secret"])
  }
}
