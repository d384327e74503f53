import TestSupport
import Glibc
import MMLogSystem
import Testing

/// Runs of mmlog-pipe in a folder of their own.
final class PipeRun {
  let folder = TemporaryDirectory()
  private var input: File?
  private var runs = 0

  /// Where the log is.
  var store: String { folder("store") }

  /// Starts it; what it reads then comes from ``feed(_:_:)``, if not from a file.
  ///
  /// - Parameter wrapper: The beginning of a command line that starts it; empty: it is started
  ///   itself.
  func start(
    by wrapper: [String] = [], input path: String? = nil, _ arguments: [String] = [],
    output: String? = nil
  ) throws -> ChildProcess {
    runs += 1
    if path == nil {
      mkfifo(folder("fifo"), 0o600)
      // For reading too: opening it does not wait for a reader then, nor does writing fail.
      input = try File.open(folder("fifo"), [.read, .write, .nonBlocking])
    }
    let program = ChildProcess.path(of: "mmlog-pipe")
    let line = wrapper + [program, "--directory", store, "--name", "piped"] + arguments
    return try ChildProcess(
      line[0], Array(line.dropFirst()),
      input: path ?? folder("fifo"), output: output ?? folder("out"),
      errors: folder("errors \(runs)"))
  }

  /// Has its input hold more than it reads at a time: a MiB.
  func enlargeInput() throws {
    // F_SETPIPE_SZ, which the module of the C library does not have.
    guard let descriptor = input?.descriptor, fcntl(descriptor, 1031, 1 << 20) > 0 else {
      throw Failure("its input cannot be enlarged: errno \(errno)")
    }
  }

  /// Gives it bytes, and waits until it has passed on all lines of them that have an end.
  func feed(_ bytes: [UInt8], _ child: ChildProcess) throws {
    let end = bytes.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    try feedAll(bytes, child)
    try child.wait { try self.passedOn() >= end }
  }

  /// Gives it bytes. Returns when it has read nearly all of them.
  func feedAll(_ bytes: [UInt8], _ child: ChildProcess) throws {
    guard let descriptor = input?.descriptor else { throw Failure("its input has ended") }
    try bytes.withUnsafeBytes { bytes in
      var rest = bytes[...]
      try child.wait {
        let count = Glibc.write(
          descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        rest = rest.dropFirst(max(0, count))
        return rest.isEmpty
      }
    }
  }

  /// Nothing more will come.
  func endInput() { input = nil }

  /// How much it has passed on.
  func passedOn() throws -> Int { try File.open(folder("out"), .read).status().size }

  /// What mmlog-decode prints of the messages.
  ///
  /// - Parameter isEmpty: Whether nothing was logged: then there is no archive, and nothing to
  ///   read.
  func decode(isEmpty: Bool = false) throws -> [UInt8] {
    let child = try ChildProcess(
      ChildProcess.path(of: "mmlog-decode"), ["--format", "message", store],
      output: folder("decoded"),
      errors: folder("decode errors"))
    let ending = child.wait()
    #expect(ending == .exited(isEmpty ? 3 : 0), "\(child.complaints)")
    return try Folder.read(folder("decoded"))
  }

  func expectDecoded(
    _ expected: [UInt8], _ comment: Comment? = nil,
    _ location: Testing.SourceLocation = #_sourceLocation
  ) throws {
    let decoded = try decode(isEmpty: expected.isEmpty)
    // Not the arrays themselves, which may be large.
    #expect(decoded.count == expected.count, comment, sourceLocation: location)
    let isSame = isEqual(decoded, expected)
    #expect(isSame, comment, sourceLocation: location)
  }

  /// Kills it while it reads an input, and checks what it has kept: of what it has passed on, all
  /// whole lines, and nothing that is not a beginning of the input.
  ///
  /// - Returns: Whether it was killed before it had ended.
  static func killAnywhere(
    in input: [UInt8], _ options: [String], _ random: inout SeededGenerator,
    _ location: Testing.SourceLocation = #_sourceLocation
  ) throws -> Bool {
    let pipe = PipeRun()
    try Folder.write(input, to: pipe.folder("input"))
    let child = try pipe.start(
      input: pipe.folder("input"), ["--tee", "--ring-size", "1"] + options)
    let enough = random.scaled(1...input.count / 2)
    try child.wait { try pipe.passedOn() >= enough }
    child.signal(SIGKILL)
    let ending = child.wait()
    #expect(ending == .killed(SIGKILL) || ending == .exited(0), sourceLocation: location)
    let decoded = try pipe.decode()
    let lines = try Folder.read(pipe.folder("out")).lastIndex(of: 10) ?? 0
    #expect(decoded.count >= lines, "killed after \(enough) bytes", sourceLocation: location)
    let isBeginning = input.starts(with: decoded)
    #expect(isBeginning, "killed after \(enough) bytes", sourceLocation: location)
    return ending == .killed(SIGKILL)
  }
}
