import CMMLogCore
import Glibc

/// An open directory: owns a descriptor, and closes it when it goes away.
///
/// Names are looked up from the descriptor, so that a directory that is renamed meanwhile is still
/// the one that was opened. Every method may be called from any thread.
package struct Directory: ~Copyable, Sendable {
  /// The path that the directory was opened at; errors are about names below it. A rename does not
  /// change it.
  package let path: String

  /// The descriptor, valid as long as the directory is.
  package let descriptor: CInt

  /// Which directory it is, for one that is open for long; nil: nobody noted that.
  private var identity: FileStatus.Identity?

  /// The access of new files that are made here (O_EXCL, O_TMPFILE).
  package private(set) var newFiles: FileAccess

  init(adopting descriptor: CInt, path: String, newFiles: FileAccess) {
    self.descriptor = descriptor
    self.path = path
    self.newFiles = newFiles
  }

  deinit {
    if isStillOpen { _ = close(descriptor) }
  }

  /// See ``File/noteIdentity()``.
  package mutating func noteIdentity() throws(SystemError) { identity = try status().identity }

  /// Whether the descriptor opens the directory that it opened when ``noteIdentity()`` was called.
  package var isStillOpen: Bool { identity?.isOpen(as: descriptor) ?? true }

  /// What the file system says about the directory: fstat(2).
  package func status() throws(SystemError) -> FileStatus {
    var status = stat()
    _ = try retrying(.fstat, path) { fstat(descriptor, &status) }
    return FileStatus(status)
  }

  /// The path of a name in the directory.
  package func path(of name: String) -> String { "\(path)/\(name)" }
}

extension Directory {
  private static let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC

  /// Opens a directory: open(2) O_DIRECTORY.
  ///
  /// A symbolic link is followed: the administrator decides where the directory lies.
  ///
  /// - Parameter newFiles: The access of new files that are made here.
  package static func open(
    _ path: String, newFiles: FileAccess = .ownerOnly
  ) throws(SystemError) -> Directory {
    try checkPath(path, .open)
    let descriptor = try retrying(.open, path) {
      mmlog_above_standard(Glibc.open(path, flags))
    }
    return Directory(adopting: descriptor, path: path, newFiles: newFiles)
  }

  /// Opens a directory to work in it for its user: what root makes there belongs to that user, who
  /// otherwise could neither read nor delete it.
  package static func openForItsUser(_ path: String) throws(SystemError) -> Directory {
    var directory = try open(path)
    if let user = try FileAccess.asOf(directory.status()) {
      directory.newFiles = FileAccess(
        mode: FileAccess.ownerOnly.mode, group: nil, owner: user.owner)
    }
    return directory
  }

  /// Opens a directory in this one, not a symbolic link to one: openat(2) O_DIRECTORY.
  package func openDirectory(_ name: String) throws(SystemError) -> Directory {
    try checkPath(name, .openat)
    let descriptor = try retrying(.openat, path(of: name)) {
      mmlog_above_standard(openat(self.descriptor, name, Self.flags | O_NOFOLLOW))
    }
    return Directory(adopting: descriptor, path: path(of: name), newFiles: newFiles)
  }

  /// Opens a file in the directory: openat(2). A file that is made with
  /// ``File/OpenOptions/exclusive``, or for another user, has the access of ``newFiles``.
  ///
  /// - Parameter mode: the permissions of a file that is made here, less the process's umask.
  /// - Throws: ELOOP where the name is a symbolic link.
  package func openFile(
    _ name: String, _ options: File.OpenOptions, mode: UInt32 = 0o600
  ) throws(SystemError) -> File {
    try checkPath(name, .openat)
    // Only a file that is known to be new is given to another user: a name may lead to somebody
    // else's file.
    if newFiles.owner != nil, options.contains(.create), !options.contains(.exclusive) {
      do throws(SystemError) {
        return try openFile(name, options.union(.exclusive), mode: mode)
      } catch  where error.isAlreadyThere {}
    }
    let descriptor = try retrying(.openat, path(of: name)) {
      mmlog_above_standard(openat(self.descriptor, name, options.flags, mode))
    }
    let file = File(adopting: descriptor, path: path(of: name))
    guard options.contains([.create, .exclusive]) else { return file }
    do throws(SystemError) {
      try newFiles.apply(to: descriptor, file.path)
    } catch {
      try? remove(name)
      throw error
    }
    return file
  }
}

extension Directory {
  /// Makes a directory and the ones above it that are missing; fine if it exists: mkdir(2).
  ///
  /// A new directory is on the disk afterwards, unless its parent directory may not be opened.
  ///
  /// - Parameters:
  ///   - mode: the permissions of each directory that is made, less the process's umask.
  ///   - newFiles: the access of the files in the new directories: whoever may read the files may
  ///     list and enter these.
  /// - Throws: ENOTDIR where something else has the name.
  package static func create(
    _ path: String, mode: UInt32 = 0o700, newFiles: FileAccess = .ownerOnly
  ) throws(SystemError) {
    try checkPath(path, .mkdir)
    do throws(SystemError) {
      try make(path, mode, newFiles)
    } catch let error where error.isNotFound {
      let parent = parent(of: path)
      if parent.isEmpty { throw error }
      try create(parent, mode: mode, newFiles: newFiles)
      try make(path, mode, newFiles)
    }
  }

  /// Acquires an exclusive lock on the directory, without waiting, for as long as it is open:
  /// flock(2).
  ///
  /// Advisory: it stops nobody who does not ask.
  /// - Returns: false if somebody else has it.
  package func tryLock() throws(SystemError) -> Bool {
    do throws(SystemError) {
      _ = try retrying(.flock, path) { mmlog_lock_directory(descriptor) }
      return true
    } catch let error where error.errno == EWOULDBLOCK {
      return false
    }
  }

  /// Makes a directory in this one; fine if it exists: mkdirat(2).
  ///
  /// - Parameter mode: its permissions, less the process's umask.
  /// - Throws: ENOTDIR where something else has the name.
  package func makeDirectory(_ name: String, mode: UInt32 = 0o700) throws(SystemError) {
    try checkPath(name, .mkdirat)
    do throws(SystemError) {
      _ = try retrying(.mkdirat, path(of: name)) { mkdirat(descriptor, name, mode) }
      if let owner = newFiles.owner {
        let made = try openDirectory(name)
        // Another directory may have taken its place: if that is empty, nobody gets anything with
        // it.
        if try made.names().isEmpty {
          try made.set(FileAccess(mode: mode, group: nil, owner: owner))
        }
      }
    } catch let error where error.isAlreadyThere {
      if try status(of: name)?.isDirectory == false {
        throw SystemError(call: .mkdirat, errno: ENOTDIR, path: path(of: name))
      }
    }
  }

  private static func make(
    _ path: String, _ mode: UInt32, _ newFiles: FileAccess
  ) throws(SystemError) {
    do throws(SystemError) {
      _ = try retrying(.mkdir, path) { mkdir(path, mode) }
      if newFiles != .ownerOnly {
        try Directory.open(path).set(newFiles.ofDirectory)
      }
      let parent = parent(of: path)
      let place = parent.isEmpty ? (path.hasPrefix("/") ? "/" : ".") : parent
      if let directory = try? Directory.open(place) { try directory.sync() }
    } catch let error where error.isAlreadyThere {
      var status = stat()
      let there = stat(path, &status) == 0 && FileStatus(status).isDirectory
      if !there { throw SystemError(call: .mkdir, errno: ENOTDIR, path: path) }
    }
  }

  /// The path without its last name and the slashes around it; empty if there is nothing above.
  private static func parent(of path: String) -> String {
    var rest = path.utf8[...]
    let slash = UInt8(ascii: "/")
    while rest.last == slash { rest.removeLast() }
    while let last = rest.last, last != slash { rest.removeLast() }
    while rest.last == slash { rest.removeLast() }
    return String(Substring(rest))
  }
}
