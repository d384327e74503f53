package import CommandLineTool
package import MMLogReader
import MMLogStorage
import MMLogSystem

/// The operands of a command that reads logs.
package let inputOperands = Operands(
  "PATH",
  """
  A file, a directory (of which all *.mmlog and *.ring are read), or - for one file at standard \
  input. A pipe is copied first, into half of the free space of $TMPDIR or /tmp at most; a device \
  is refused. Without one, the directory in MMLOG_DIR. A file or directory that is called like a \
  command is to be written as ./PATH.
  """)

extension Arguments {
  /// The paths that the command line names, or else the directory in `MMLOG_DIR`.
  ///
  /// - Parameter others: How many operands of another kind come first.
  package func paths(behind others: Int = 0) throws(UsageError) -> [String] {
    let paths = Array(operands.dropFirst(others))
    if let first = paths.first {
      if others == 0 { try checkIsNoCommand(first) }
      return paths
    }
    let directory = CurrentProcess.variable("MMLOG_DIR") ?? ""
    if directory.isEmpty {
      let place = others > 0 ? operands.last.map { " behind '\($0)'" } ?? "" : ""
      throw UsageError("PATH is missing\(place); name one, or set MMLOG_DIR")
    }
    return [directory]
  }

  /// As ``paths(behind:)``, for a command that takes neither standard input nor archives.
  ///
  /// - Parameter takesRings: Whether the command also takes single rings.
  package func directories(
    behind others: Int = 0, takesRings: Bool = true
  ) throws(UsageError) -> [String] {
    let paths = try paths(behind: others)
    if paths.contains("-") {
      let needs = takesRings ? "directories or rings" : "directories"
      throw UsageError("\(command.name) needs \(needs), not '-'; name one")
    }
    for path in paths where !takesRings || !path.hasSuffix(FileNames.ringSuffix) {
      guard let status = try? File.status(ofPath: path), status.isRegularFile else { continue }
      throw UsageError(
        "'\(path)' is a file; name its directory, '\(path.splitAtLastSlash.directory)'")
    }
    // A path that is named twice counts once, in whichever spellings.
    var (names, files) = (Set<String>(), Set<FileStatus.Identity>())
    return paths.filter { path in
      let isNew = names.insert(path).inserted
      guard isNew, let status = try? File.status(ofPath: path) else { return isNew }
      return files.insert(status.identity).inserted
    }
  }

  /// The inputs that these paths stand for.
  package func inputs(_ paths: [String]) -> [LogReader.Input] {
    paths.map { path in
      if path == "-" { return .standardInput }
      return isSet(.recursive) ? .tree(path) : .path(path)
    }
  }

  /// The identities that decrypt: those of the options, and of the file in `MMLOG_IDENTITY`.
  package func identities() throws -> LogIdentities {
    let variable = CurrentProcess.variable("MMLOG_IDENTITY") ?? ""
    let files = values(of: .identity) + [variable].filter { !$0.isEmpty }
    let identities = try LogIdentities(files: files)
    // Behind that: of another file, the advice would be wrong.
    for warning in files.compactMap(LogIdentities.warning) { command.report(warning) }
    return identities
  }

  /// A misspelled command would be searched for as a file.
  private func checkIsNoCommand(_ word: String) throws(UsageError) {
    guard !word.contains("/"), word != "-", (try? File.status(ofPath: word)) == nil else { return }
    let near = command.suggestedCommand(for: word)
    if near == word { throw UsageError("'\(word)' is a command; it stands before its options") }
    // Behind a command, it can only be a path.
    guard command.isImplied else { return }
    let fix = near.map { "did you mean '\($0)'?" } ?? "--help lists the commands"
    guard near != nil || word.allSatisfy({ $0.isLetter || $0 == "-" }) else { return }
    throw UsageError("there is neither a command nor a file '\(word)'; \(fix)")
  }
}

extension Option {
  package static let recursive = Option(
    "recursive", short: "R", "Read directories below those given, too.")
  package static let identity = Option(
    "identity", value: "FILE", repeatable: true,
    "Decrypt with the secret keys in FILE, as age-keygen makes it; also with those in the file "
      + "that the variable MMLOG_IDENTITY names.")
  package static let quiet = Option(
    "quiet", short: "q",
    "Say nothing of crashes, nor that nothing matched; losses and corruption are reported.")
  /// For commands that act and print no records.
  package static let silent = Option(
    "quiet", short: "q", "Print nothing of what went well: the exit status says it.")
  package static let exitCode = Option(
    "exit-code", "End with status 4 if nothing is what was asked for.")
  /// For commands whose output is no list of records.
  package static let jsonSummary = Option("json", "Print JSON, for programs.")
}

/// The options of all commands that read logs.
package let inputOptions: [Option] = [.recursive, .identity]
