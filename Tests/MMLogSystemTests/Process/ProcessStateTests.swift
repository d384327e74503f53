import Foundation
import Glibc
import MMLogSystem
import TestSupport
import Testing

@Suite("What the kernel says of a process")
struct ProcessStateTests {
  private let folder = TemporaryDirectory()

  @Test(
    "a process is found by its name",
    arguments: [
      // What makes one `Character` with the parenthesis or the space beside it.
      "a)\u{600}", "\u{301}x", "\u{600}",
      // The kernel cuts the last character.
      "fourteen bytesé",
    ])
  func names(name: String) throws {
    let child = try start(name)
    // Until then it has the name of what has started it.
    while !isNamed(child.id, Array(name.utf8.prefix(15))) { usleep(1000) }
    #expect(ProcessState(of: UInt32(child.id), name: name) != nil)
    child.kill()
    child.wait()
  }

  /// Starts a copy of sleep(1) with another name. Another process makes the copy: a child of this one
  /// that is forked meanwhile would have the copy open for writing, and nobody could start it.
  private func start(_ name: String) throws -> ChildProcess {
    #expect(try ChildProcess("/bin/cp", ["/bin/sleep", folder(name)]).wait() == .success)
    return try ChildProcess(folder(name), ["600"])
  }

  private func isNamed(_ id: pid_t, _ name: [UInt8]) -> Bool {
    let url = URL(fileURLWithPath: "/proc/\(id)/comm")
    return (try? Data(contentsOf: url)).map { Array($0) } == name + [10]
  }

  @Test("it runs, is stopped, goes on, is dead, and is gone") func states() throws {
    // What stands around a name in /proc/PID/stat, and more than the kernel keeps of it.
    let name = "a) T (.long name of a program.x"
    let child = try start(name)
    func wait(for state: ProcessState?) {
      while ProcessState(of: UInt32(child.id), name: name) != state { usleep(1000) }
    }
    wait(for: .running)
    #expect(ProcessState(of: UInt32(child.id), name: "sleep") == nil)
    // Another of that number and name does not have the file in its memory.
    let inode = try File.status(ofPath: folder(name)).inode
    func isMapping(_ inode: UInt64, _ part: String) -> Bool {
      ProcessState(of: UInt32(child.id), name: name, mapping: (inode, part)) != nil
    }
    // It has its name before it has its memory.
    while !isMapping(inode, "none") { usleep(1000) }
    #expect(isMapping(.max, "long name of a program") && !isMapping(.max, "none"))
    child.signal(SIGSTOP)
    wait(for: .stopped)
    child.signal(SIGCONT)
    wait(for: .running)
    child.kill()
    // Nobody has waited for it.
    wait(for: .dead)
    child.wait()
    wait(for: nil)
  }
}
