package import MMLogSystem

extension Directory {
  /// Puts a file into the place of `name`, whole or not at all: it is written under another name
  /// first.
  ///
  /// - Parameters:
  ///   - mode: its permissions, less the process's umask.
  ///   - isSynced: Whether the bytes are on the disk before the file gets the name. The name itself
  ///     is not: ``sync()``.
  ///   - written: Called before the file gets its name.
  package borrowing func replace(
    _ name: String, with bytes: [UInt8], mode: UInt32 = 0o600, isSynced: Bool = true,
    written: () -> Void = {}
  ) throws(SystemError) {
    let unfinished = name + FileNames.unfinishedSuffix
    // What has the name is left over, or planted.
    try removeIfThere(unfinished)
    let file = try openFile(unfinished, [.write, .create, .exclusive], mode: mode)
    do throws(SystemError) {
      try file.write(all: bytes, at: 0)
      if isSynced { try file.syncData() }
      written()
      try rename(unfinished, to: name)
    } catch {
      try? remove(unfinished)
      throw error
    }
  }
}
