import MMLogSystem

extension LockedFile {
  /// Makes a new file, and locks it. It gets its name when it is whole; after a failure, nothing is
  /// left. What has the name is replaced.
  ///
  /// - Parameter write: Writes what the file begins with.
  static func make(
    named name: String, in directory: borrowing Directory,
    _ write: (borrowing File) throws(SystemError) -> Void
  ) throws(SystemError) -> LockedFile {
    let unfinished = name + FileNames.unfinishedSuffix
    var made = try make(unfinished, in: directory)
    do throws(SystemError) {
      try write(made.file)
      try directory.rename(unfinished, to: name)
    } catch {
      try? directory.remove(unfinished)
      throw error
    }
    made.noteRename(to: directory.path(of: name))
    return made
  }
}
