import Glibc

/// Who may do what with new files: their permissions, and the group and the user that they are
/// given to.
package struct FileAccess: Equatable, Sendable {
  /// The permission bits, such as 0o640.
  package let mode: UInt32
  /// The group's number; nil: the group that the system gives, which is the process's or the
  /// directory's.
  package let group: UInt32?
  /// The user's number; nil: the process's.
  package let owner: UInt32?

  package init(mode: UInt32, group: UInt32?, owner: UInt32? = nil) {
    (self.mode, self.group, self.owner) = (mode, group, owner)
  }

  /// The access for a file that root makes for the owner of another file; nil where the process may
  /// not give a file away, or would give it to root.
  package static func asOf(_ status: FileStatus) -> FileAccess? {
    guard geteuid() == 0, status.owner != 0 else { return nil }
    return FileAccess(mode: status.permissions, group: status.group, owner: status.owner)
  }

  /// For the process's user alone, in the group that the system gives them.
  package static let ownerOnly = FileAccess(mode: 0o600, group: nil)

  /// The access for a directory of such files: whoever may read the files may list and enter it.
  var ofDirectory: FileAccess {
    FileAccess(mode: mode | (mode & 0o444) >> 2, group: group, owner: owner)
  }
}

extension FileAccess {
  /// Gives a file or directory that was just made this access, whatever the umask: fchown(2),
  /// fchmod(2). Does nothing for ``ownerOnly``: files and directories are made with that.
  func apply(to descriptor: CInt, _ path: String) throws(SystemError) {
    if self == .ownerOnly { return }
    // Before the group may read it: the group might still be another one.
    if group != nil || owner != nil {
      _ = try retrying(.fchown, path) {
        fchown(descriptor, owner ?? uid_t.max, group ?? gid_t.max)
      }
    }
    // A new owner alone does not change the permissions.
    if mode == Self.ownerOnly.mode, group == nil { return }
    _ = try retrying(.fchmod, path) { fchmod(descriptor, mode) }
  }
}

extension Directory {
  /// Gives the directory itself an access: fchown(2), fchmod(2).
  func set(_ access: FileAccess) throws(SystemError) { try access.apply(to: descriptor, path) }
}

extension File {
  /// Gives the file an access: fchown(2), fchmod(2).
  package func set(_ access: FileAccess) throws(SystemError) {
    try access.apply(to: descriptor, path)
  }
}
