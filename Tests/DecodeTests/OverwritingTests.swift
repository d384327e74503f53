import Foundation
import MMLogFormat
import TestSupport
import Testing

/// An input is never overwritten, whatever its name on the command line.
@Suite struct OverwritingTests {
  /// A session with one closed archive, beside a file that is no log.
  private func log() -> (log: TestLog, archive: String) {
    let log = TestLog()
    log.writesRing = false
    log.write("one", ticks: 1)
    log.archive()
    log.close()
    return (log, log.save()[0])
  }

  /// The files of a folder, with their content.
  private func contents(_ folder: TemporaryDirectory) throws -> [String: Data] {
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    return try names.reduce(into: [:]) {
      var isDirectory: ObjCBool = false
      _ = FileManager.default.fileExists(atPath: folder($1), isDirectory: &isDirectory)
      $0[$1] =
        isDirectory.boolValue ? Data() : try Data(contentsOf: URL(fileURLWithPath: folder($1)))
    }
  }

  private func expectRefused(_ arguments: [String], _ folder: TemporaryDirectory) throws {
    let before = try contents(folder)
    let run = try decode(arguments)
    #expect(run.status == 2 && run.output.isEmpty, "\(arguments): \(run.errors)")
    #expect(run.errors.contains("; name another"), "\(arguments): \(run.errors)")
    #expect(try contents(folder) == before, "\(arguments)")
  }

  @Test("a log that is read is not overwritten", arguments: ["print", "report"])
  func aLogThatIsReadIsNotOverwritten(command: String) throws {
    let (log, archive) = log()
    let folder = log.folder
    try FileManager.default.linkItem(atPath: archive, toPath: folder("linked"))
    try FileManager.default.createSymbolicLink(
      atPath: folder("here"), withDestinationPath: folder.path)
    for (output, input) in [
      (archive, archive), (archive, folder.path), (folder("linked"), archive),
      (folder("here/linked"), folder.path), (folder("new.mmlog"), folder.path),
      (folder("new.ring"), folder("here")), (folder(".mmlog-lock"), folder.path),
    ] {
      try expectRefused([command, "--output", output, input], folder)
    }
    try expectRefused([command, "-R", "--output", folder("x.mmlog"), folder("here/..")], folder)
    // In the same folder, files with other names may be written.
    #expect(try decode([command, "--output", folder("out"), folder.path]).status == 0)
    try expectRefused([command, "--output", folder("other.mmlog"), archive], folder)
  }

  @Test("a log that is not read is not overwritten", arguments: ["print", "report"])
  func aLogThatIsNotReadIsNotOverwritten(command: String) throws {
    let ((log, _), (other, archive)) = (log(), log())
    other.folder.put("renamed", try Array(Data(contentsOf: URL(filePath: archive))))
    for output in [archive, other.folder("renamed"), other.folder("new.ring")] {
      try expectRefused([command, "--output", output, log.folder.path], other.folder)
    }
  }

  @Test("a split does not overwrite what is read") func aSplitDoesNotOverwriteWhatIsRead() throws {
    let log = TestLog()
    log.writesRing = false
    let site = log.site(.literal("x"))
    log.write(TestRecord(ticks: 1, site: site, label: log.label("a"), level: .info))
    log.archive()
    log.close()
    let copy = log.folder.put("a.log", log.archives[0])
    try expectRefused(["--split-by", "label", "-o", log.folder.path, copy], log.folder)
    #expect(try decode(["--split-by", "hour", "-o", log.folder.path, copy]).status == 0)
  }

  @Test("a repair does not write where it reads") func aRepairDoesNotWriteWhereItReads() throws {
    let (log, archive) = log()
    try expectRefused(["repair", "--output", log.folder.path, log.folder.path], log.folder)
    try expectRefused(["repair", "--output", log.folder.path, archive], log.folder)
    let copy = TemporaryDirectory()
    copy.put("copy", log.archives[0])
    try expectRefused(["repair", "--output", copy.path, copy("copy")], copy)
    try expectRefused(["repair", "--output", copy.path, copy.path, archive], copy)
    #expect(try decode(["repair", "--output", copy("out"), copy("copy")]).status == 0)
    // A slash and the combining mark behind it are one character, but two parts of a path.
    let marked = TemporaryDirectory()
    marked.put("\u{301}copy", log.archives[0])
    try expectRefused(["repair", "--output", marked.path, marked("\u{301}copy")], marked)
  }

  @Test("a recovery into an archive is refused") func aRecoveryIntoAnArchiveIsRefused() throws {
    let (log, archive) = log()
    let before = try contents(log.folder)
    let run = try decode(["recover", log.folder.path, "--archives", archive])
    #expect(run.status == 1 && run.errors.contains("Not a directory"), "\(run.errors)")
    #expect(try contents(log.folder) == before)
  }

  @Test("standard output that is an input is refused")
  func standardOutputThatIsAnInputIsRefused() throws {
    let (log, archive) = log()
    let folder = TemporaryDirectory()
    let run = try shell("'\(tool)' '\(archive)' >> '\(archive)'; echo $?", folder: folder)
    #expect(run.output == "2\n" && run.errors.contains("standard output"), "\(run.errors)")
    #expect(try Data(contentsOf: URL(fileURLWithPath: archive)) == Data(log.archives[0]))
  }
}

/// Inputs that have no end, or that would fill a disk.
@Suite struct EndlessInputTests {
  @Test("a device is refused", arguments: ["/dev/zero", "/dev/null"])
  func aDeviceIsRefused(path: String) throws {
    let run = try decode([path])
    #expect(run.status == 3 && run.errors.contains("is a device"), "\(run.errors)")
    #expect(run.errors.contains("copy"), "\(run.errors)")
  }

  @Test("a device at standard input is refused") func aDeviceAtStandardInputIsRefused() throws {
    let run = try shell("'\(tool)' - < /dev/zero; echo $?", folder: TemporaryDirectory())
    #expect(run.output == "3\n" && run.errors.contains("is a device"), "\(run.errors)")
  }

  /// Only the first bytes of the stream are kept.
  @Test("a stream that is no log is left at once") func aStreamThatIsNoLogIsLeftAtOnce() throws {
    let run = try shell("yes | '\(tool)' -; echo ${PIPESTATUS[1]}", folder: TemporaryDirectory())
    #expect(run.output == "3\n" && run.errors.contains("standard input"), "\(run.errors)")
  }

  /// Such a stream would fill the file system of temporary files.
  @Test(
    "a stream without end ends at a stated limit",
    .enabled(if: mountsCanBeMade, "no file system can be mounted"))
  func aStreamWithoutEndEndsAtAStatedLimit() throws {
    let log = TestLog()
    log.write("one", ticks: 1)
    log.archive()
    let archive = log.folder.put("start", log.archives[0])
    let folder = TemporaryDirectory()
    let run = try shell(
      """
      mkdir '\(folder("tmp"))' && mount -t tmpfs -o size=8m none '\(folder("tmp"))' || exit
      cat '\(archive)' /dev/zero | TMPDIR='\(folder("tmp"))' '\(tool)' -; echo ${PIPESTATUS[1]}
      umount '\(folder("tmp"))'
      """, folder: TemporaryDirectory())
    #expect(run.output == "3\n", "\(run.errors)")
    #expect(
      run.errors.contains("half of the space") && run.errors.contains("TMPDIR"), "\(run.errors)")
  }
}
