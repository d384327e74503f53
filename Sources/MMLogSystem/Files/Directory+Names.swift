import Glibc

extension Directory {
  /// The names in the directory, without `.` and `..`, in no order: openat(2), readdir(3).
  ///
  /// Names that are not UTF-8 are skipped, because none of our names is such a name. A name that is
  /// added or removed meanwhile may or may not be there.
  package func names() throws(SystemError) -> [String] {
    // A descriptor of its own: the place in the directory belongs to the open file.
    let copy = try retrying(.openat, path) {
      openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    }
    guard let stream = fdopendir(copy) else {
      let code = errno
      _ = close(copy)
      throw SystemError(call: .readdir, errno: code, path: path)
    }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = try nextEntry(stream) {
      if let name = Self.name(of: entry), name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  /// The next entry, nil at the end: readdir(3) distinguishes that from an error by errno alone.
  private func nextEntry(_ stream: OpaquePointer) throws(SystemError) -> UnsafePointer<dirent>? {
    var entry: UnsafeMutablePointer<dirent>?
    _ = try retrying(.readdir, path) {
      errno = 0
      entry = readdir(stream)
      return entry == nil && errno != 0 ? CInt(-1) : 0
    }
    return UnsafePointer(entry)
  }

  private static func name(of entry: UnsafePointer<dirent>) -> String? {
    guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { return nil }
    // By address: the entry is only as long as its name, shorter than a `dirent` copied whole.
    let name = UnsafeRawPointer(entry) + offset
    return String(validatingCString: name.assumingMemoryBound(to: CChar.self))
  }

  /// What the file system says about a name; nil if the name is not there: fstatat(2).
  ///
  /// Of a symbolic link, it is what the file system says about the link itself.
  package func status(of name: String) throws(SystemError) -> FileStatus? {
    try checkPath(name, .fstatat)
    var status = stat()
    do throws(SystemError) {
      _ = try retrying(.fstatat, path(of: name)) {
        fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW)
      }
      return FileStatus(status)
    } catch let error where error.errno == ENOENT {
      return nil
    }
  }

  /// Removes a file's name: unlinkat(2). A process that has the file open keeps the file.
  ///
  /// - Throws: ENOENT if it is not there, EISDIR if it is a directory.
  package func remove(_ name: String) throws(SystemError) {
    try checkPath(name, .unlinkat)
    _ = try retrying(.unlinkat, path(of: name)) { unlinkat(descriptor, name, 0) }
  }

  /// Removes the name of a file that may be gone already.
  ///
  /// - Returns: Whether it was there.
  @discardableResult
  package func removeIfThere(_ name: String) throws(SystemError) -> Bool {
    do throws(SystemError) {
      try remove(name)
      return true
    } catch  where error.isNotFound {
      return false
    }
  }

  /// Removes an empty directory in this one: unlinkat(2) AT_REMOVEDIR.
  ///
  /// - Throws: ENOENT if it is not there, ENOTEMPTY if it is not empty.
  package func removeDirectory(_ name: String) throws(SystemError) {
    try checkPath(name, .unlinkat)
    _ = try retrying(.unlinkat, path(of: name)) { unlinkat(descriptor, name, AT_REMOVEDIR) }
  }

  /// Gives a file in the directory another name there, at once for everyone: renameat(2).
  ///
  /// What had the new name is gone.
  package func rename(_ old: String, to new: String) throws(SystemError) {
    try rename(old, to: new, in: self)
  }

  /// Moves a file to a name in another directory, at once for everyone: renameat(2).
  ///
  /// What had the new name is gone.
  /// - Throws: EXDEV where the other directory is on another file system.
  package func rename(
    _ old: String, to new: String, in other: borrowing Directory
  ) throws(SystemError) {
    try checkPath(old, .renameat)
    try checkPath(new, .renameat)
    let target = other.descriptor
    _ = try retrying(.renameat, path(of: old)) { renameat(descriptor, old, target, new) }
  }
}

extension Directory {
  /// Waits until names that were added, changed and removed are on the disk: fsync(2).
  ///
  /// Does nothing where the file system does not support that (EINVAL).
  package func sync() throws(SystemError) {
    do throws(SystemError) {
      _ = try retrying(.fsync, path) { fsync(descriptor) }
    } catch  where error.errno == EINVAL {}
  }

  /// The space on the directory's file system, in bytes: fstatvfs(3).
  ///
  /// - Returns: how much a user without privileges may still take, and how much there is in all.
  package func freeSpace() throws(SystemError) -> (available: Int, total: Int) {
    var status = statvfs()
    _ = try retrying(.fstatvfs, path) { fstatvfs(descriptor, &status) }
    let unit = UInt(status.f_frsize)
    return (
      Self.bytes(UInt(status.f_bavail), of: unit), Self.bytes(UInt(status.f_blocks), of: unit)
    )
  }

  /// The product, or the largest `Int`: network file systems answer with all bits set.
  private static func bytes(_ blocks: UInt, of unit: UInt) -> Int {
    let (product, overflow) = blocks.multipliedReportingOverflow(by: unit)
    return overflow ? .max : Int(clamping: product)
  }
}

extension String {
  /// A path's directory, and the name in it.
  package var splitAtLastSlash: (directory: String, name: String) {
    // By bytes, as the kernel does: a slash and a combining mark behind it are one character.
    guard let slash = utf8.lastIndex(of: UInt8(ascii: "/")) else { return (".", self) }
    let directory = slash == startIndex ? "/" : String(self[..<slash])
    return (directory, String(self[utf8.index(after: slash)...]))
  }
}
