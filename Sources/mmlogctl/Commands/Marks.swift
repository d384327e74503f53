import CommandLineTool
import LogCommands
import MMLogStorage
import MMLogSystem

// Notes about archives, for limits and uploaders, whether their store is running or not.

extension Command {
  static let pin = Command(
    "pin",
    description: ["Keeps archives from being deleted by any limit, until they are unpinned."],
    options: [.reason, .silent], operands: archiveOperands,
    examples: [
      Example(
        "Keep what an incident is about",
        "mmlogctl pin --reason 'incident 7' /var/log/orders/orders-20261121T*.mmlog")
    ]
  ) { arguments, output in
    let reason = ArchiveInfo.State.line(arguments.value(of: .reason) ?? "")
    return try arguments.forEachArchive(output, "pinned") { catalog, name in
      try catalog.change(name) { $0.pinned = reason }
    }
  }

  static let unpin = Command(
    "unpin", description: ["Ends pins: limits count again."], options: [.silent],
    operands: archiveOperands
  ) { arguments, output in
    try arguments.forEachArchive(output, "unpinned") { catalog, name in
      try catalog.change(name) { $0.pinned = nil }
    }
  }

  static let uploaded = Command(
    "uploaded",
    description: [
      "Marks sealed archives as uploaded: they are the first to be deleted when a limit asks.",
      "Every lease on them ends.",
    ],
    options: [.receipt, .undo, .silent], operands: archiveOperands
  ) { arguments, output in
    let isUndone = arguments.isSet(.undo)
    let receipt = arguments.value(of: .receipt)
    if isUndone, receipt != nil {
      throw UsageError("--undo takes a receipt away, and --receipt notes one; give one of them")
    }
    return try arguments.forEachArchive(output, isUndone ? "not uploaded" : "uploaded") {
      catalog, name in
      guard let archive = try catalog.inspect(at: name) else { throw catalog.missing(name) }
      if isUndone { return try catalog.unmarkUploaded(archive) }
      guard archive.isSealed else {
        throw LogError(
          .archiveInUse,
          "\(archive.path) is not sealed, and will change; "
            + (archive.isActive
              ? "'mmlogctl rotate' has it sealed"
              : "'mmlog-decode recover' seals what a dead process has left"),
          path: archive.path)
      }
      try catalog.markUploaded(archive, receipt: receipt)
    }
  }
}

/// What is done to single archives.
let archiveOperands = Operands("FILE", count: 1...Int.max, "Archives: *.mmlog.")

extension Arguments {
  /// Does something to each archive.
  ///
  /// - Parameters:
  ///   - word: What the archives are afterwards.
  ///   - takesRings: Whether rings are taken, too.
  ///   - note: Changes the archive with this name.
  func forEachArchive(
    _ output: StandardOutput, _ word: String, takesRings: Bool = false,
    _ note: (Catalog, String) throws -> Void
  ) throws -> Program.Status {
    var status = Program.Status.success
    for path in operands {
      let (folder, name) = path.splitAtLastSlash
      do {
        let catalog = Catalog(of: folder, store: nil)
        let isRing = takesRings && FileNames.Ring(fileName: name) != nil
        guard isRing || FileNames.Archive(fileName: name) != nil else {
          throw catalog.missing(name)
        }
        try note(catalog, name)
        if !isSet(.silent) { try output.append("\(word)  \(path)\n".escapedControls) }
      } catch let error as LogError {
        Command.complain(error.reason(at: path, name).message)
        status = .corruptionOrLoss
      }
    }
    return status
  }
}

extension LogError {
  /// Why the catalog does not take a file for an archive: what reading the file says, such as that
  /// it is of a newer version; this error if there is no such file.
  fileprivate func reason(at path: String, _ name: String) -> LogError {
    guard code == .missingArchive, FileNames.Archive(fileName: name) != nil,
      let file = try? File.open(path, [.read, .nonBlocking])
    else { return self }
    do throws(LogError) { _ = try ArchiveFile.all(in: file) } catch { return error }
    return self
  }
}

extension Catalog {
  fileprivate func missing(_ name: String) -> LogError {
    let file = "\(path)/\(name)"
    do throws(SystemError) {
      _ = try File.status(ofPath: file)
    } catch {
      if error.isNotFound {
        return LogError(.missingArchive, "No such file: \(file)", path: file)
      }
      return LogError(error, while: "Inspecting the archive failed")
    }
    return LogError(.missingArchive, "\(file) is no archive; name *.mmlog files", path: path)
  }
}

extension Option {
  fileprivate static let reason = Option(
    "reason", value: "TEXT", "Why the archive is marked; kept in one line.")
  fileprivate static let receipt = Option(
    "receipt", value: "TEXT", "What the receiver gave for it, such as an object's version.")
  fileprivate static let undo = Option("undo", "Take the mark away again.")
}
