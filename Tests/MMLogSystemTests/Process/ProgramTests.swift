import Glibc
import MMLogSystem
import TestSupport
import Testing

/// What runs `command`, which is killed after ten minutes.
private func feed(
  _ command: String, _ input: String = "", environment: [(name: String, value: String)] = []
) throws(SystemError) -> FedProgram.Result {
  try FedProgram.run(
    command, environment: environment, input: Array(input.utf8), timeout: 600_000_000_000,
    isCanceled: { false })
}

@Suite("Programs that are started") struct ProgramTests {
  @Test("a command reads its input and its variables, and what it says is kept")
  func fed() throws {
    let result = try feed("cat; echo $X >&2; exit 3", "input ", environment: [("X", "variable")])
    #expect(result.ending == .exited(3) && result.hasTakenInput)
    #expect(String(decoding: result.said, as: UTF8.self) == "input variable\n")
    #expect(try feed("kill -9 $$").ending == .killed(SIGKILL))
  }

  @Test("variables are those that are asked for in place of the process's, and others to the byte")
  func variables() async {
    await #expect(processExitsWith: .success) {
      setenv("MMLOG_A", "\u{301}old", 1)
      withUnsafeTemporaryAllocation(of: CChar.self, capacity: 2) { bytes in
        (bytes[0], bytes[1]) = (-1, 0)
        if let start = bytes.baseAddress { setenv("MMLOG_B", start, 1) }
      }
      let result = try feed("env | grep -a '^MMLOG_[AB]='", environment: [("MMLOG_A", "new")])
      let lines = Set(result.said.split(separator: 10).map(Array.init))
      require(lines == [Array("MMLOG_A=new".utf8), Array("MMLOG_B=".utf8) + [0xFF]])
    }
  }

  @Test("a command that prints without end is killed when its time is over, as any other")
  func endless() throws {
    let result = try FedProgram.run(
      "cat /dev/zero & cat /dev/zero", environment: [], input: [], timeout: 100_000_000,
      isCanceled: { false })
    #expect(result.ending == .timedOut)
  }

  @Test("what a program prints is given back, if it succeeds")
  func output() {
    #expect(PipedProgram.output(of: ["sh", "-c", "cat; echo x; echo y >&2"]) == "x\n")
    #expect(PipedProgram.output(of: ["sh", "-c", "echo x; exit 1"]) == nil)
    #expect(PipedProgram.output(of: ["no-such-program-of-any-name"]) == nil)
  }

  @Test("where children leave no status, a command ends all the same, and did not succeed")
  func noStatus() async {
    await #expect(processExitsWith: .success) {
      signal(SIGCHLD, SIG_IGN)
      require(failure { _ = try feed("exit 0") }?.errno == ECHILD)
      require(PipedProgram.output(of: ["true"]) == nil)
    }
  }

  #if DEBUG
    /// Descriptors that a program would inherit which is started now.
    private static func inheritable() -> Set<CInt> {
      Set((3..<256).filter { fcntl($0, F_GETFD) >= 0 && fcntl($0, F_GETFD) & FD_CLOEXEC == 0 })
    }

    @Test("no other program inherits an end of a pipe, whenever it is started")
    func pipesOfOthers() async {
      await #expect(processExitsWith: .success) {
        let (before, found) = (Self.inheritable(), LockedValue<[Set<CInt>]>([]))
        CallObserver.observe { call, _, phase in
          guard call == .pipe, phase == .succeeded else { return }
          let new = Self.inheritable().subtracting(before)
          found.withLock { $0.append(new) }
        }
        _ = try feed("true")
        _ = PipedProgram.output(of: ["true"])
        CallObserver.observe(nil)
        require(found.withLock { $0 } == [[], [], []])
      }
    }
  #endif
}
