import Foundation
import MMLog
import MMLogFormat
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

/// Requests that running processes carry out at once: `mmlogctl flush`, `rotate`.
@Suite struct RequestTests {
  private let folder = TemporaryDirectory()

  @Test("what was logged is in archives after a flush") func flushing() throws {
    let store = try LogStore(directory: folder.path, name: "orders")
    store.logger(label: "l").info("one")
    let run = try control(["flush", folder.path])
    #expect(run.status == 0 && run.errors == "", "\(run)")
    #expect(run.output.hasSuffix("]  everything is in archives\n"), "\(run)")
    let archives = try folder.names(ending: ".mmlog").map { folder($0) }
    #expect(try decode(["--format", "message"] + archives).output == "one\n")
    let disk = try control(["flush", "--disk", folder.path])
    #expect(disk.status == 0 && disk.output.hasSuffix(", and safe from a power cut\n"), "\(disk)")
    #expect(store.statistics.syncs > 0)
    #expect(try control(["flush", "-q", folder.path]) == Run(output: "", errors: "", status: 0))
    try store.close()
  }

  @Test("an archive is sealed and named, once") func rotating() throws {
    let stores = try ["a", "b"].map { try LogStore(directory: folder.path, name: $0) }
    for store in stores { store.logger(label: "l").info("one") }
    let run = try control(["rotate", folder.path])
    #expect(run.status == 0 && run.errors == "", "\(run)")
    let archives = try folder.names(ending: ".mmlog")
    #expect(archives.count == 2)
    let lines = run.output.split(separator: "\n").map { $0.drop { $0 != "]" } }
    #expect(lines == archives.map { "]  sealed \(folder($0))" }, "\(run)")
    let verified = try decode(["verify", folder(archives[0])])
    #expect(verified.status == 0 && verified.output.contains("closed"), "\(verified)")
    let again = try control(["rotate", folder.path])
    #expect(again.status == 0, "\(again)")
    #expect(
      again.output.split(separator: "\n").allSatisfy {
        $0.hasSuffix("nothing was logged since its last archive was sealed")
      }, "\(again)")
    for store in stores { try store.close() }
  }

  @Test("a process that is stopped is named with the reason, and does it when it goes on")
  func stopped() throws {
    let child = try LoggingChild(in: folder.path)
    try child.log("line")
    try child.stop()
    for command in [
      ["flush"], ["rotate"], ["capture"], ["set-level", "debug"],
    ] {
      let run = try control(command + ["--timeout", "0s", folder.path])
      if command == ["capture"] {
        #expect(run.status == 0 && run.output.contains("keeps no flight records"), "\(run)")
        continue
      }
      #expect(run.status == 1 && run.output == "", "\(run)")
      #expect(run.errors.contains("it is stopped, by SIGSTOP or a debugger"), "\(run)")
    }
    #expect(try control(["status", folder.path]).output.contains("a request is not answered yet"))
    child.goOn()
    let run = try control(["flush", folder.path])
    #expect(run.status == 0, "\(run)")
    // The process has rotated, although nobody waited for that.
    let archives = try folder.names(ending: ".mmlog")
    #expect(try decode(["verify", folder(archives[0])]).output.contains("closed"))
    child.end()
  }

  @Test("a process whose ring has no place for requests is named")
  func withoutControlPage() throws {
    var areas = RingAreas.usual
    areas.control = nil
    let log = TestLog(areas: areas)
    let ring = folder.put("test.\(log.identity.session).ring", log.ring)
    let file = try File.open(ring, [.read, .write])
    #expect(try file.tryLock())
    let run = try control(["flush", folder.path])
    #expect(run.status == 1 && run.errors.contains("cannot be asked for anything"), "\(run)")
    // A command that needs no answer works.
    let status = try control(["status", folder.path])
    #expect(status.status == 0 && status.output.hasPrefix("orders[42]  running"), "\(status)")
    try file.unlock()
  }

  @Test("a process that is dying is named with what it dies of") func dying() throws {
    let log = TestLog()
    log.put(
      CrashReport.bytes(frames: [], registers: 0, module: "/bin/orders"), at: RingLayout.crash)
    let ring = folder.put("test.\(log.identity.session).ring", log.ring)
    let file = try File.open(ring, [.read, .write])
    #expect(try file.tryLock())
    let run = try control(["flush", "--timeout", "0s", folder.path])
    #expect(run.status == 1 && run.output == "", "\(run)")
    #expect(run.errors.contains("has not answered: it is dying: SIGSEGV"), "\(run)")
    #expect(try control(["status", folder.path]).output.hasPrefix("orders[42]  dying  "))
    // The request is in the control page, even if the process never reads it.
    let page = try file.bytes(at: RingLayout.control + ControlLayout.request, count: 8)
    #expect(page == [1, 0, 0, 0, 0, 0, 0, 0])
    try file.unlock()
  }

  @Test("where no process runs nothing can be asked") func nobody() throws {
    for command in ["flush", "rotate", "capture"] {
      let run = try control([command, folder.path])
      #expect(run.status == 3 && run.errors.contains("no process logs into"), "\(run)")
    }
    let wrong = try control(["flush", "--timeout", "soon", folder.path])
    #expect(wrong.status == 2 && wrong.errors.contains("10s"), "\(wrong)")
  }
}
