import CMMLogCore
import Glibc

/// What the file system says about a file: fstat(2), fstatat(2).
package struct FileStatus: Equatable, Sendable {
  /// Its length in bytes.
  package let size: Int

  /// Its type and permission bits, `st_mode`.
  package let mode: UInt32

  /// Its owner's user number.
  package let owner: UInt32

  /// Its group's number.
  package let group: UInt32

  /// How many names it has; 0 once it was removed.
  package let linkCount: Int

  /// The file system it is on; with ``inode`` it is the file's ``identity``.
  package let device: UInt64

  /// Its number in the file system.
  package let inode: UInt64

  /// When its contents last changed, in nanoseconds since 1970.
  package let modified: Int64

  /// When its contents or properties, such as extended attributes, last changed, in nanoseconds
  /// since 1970.
  package let changed: Int64

  /// The space it takes on the disk, in bytes: less than ``size`` where it has holes.
  package let allocatedBytes: Int

  init(_ status: stat) {
    size = Int(status.st_size)
    mode = status.st_mode
    owner = status.st_uid
    group = status.st_gid
    linkCount = Int(status.st_nlink)
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
    modified = Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec)
    changed = Int64(status.st_ctim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_ctim.tv_nsec)
    allocatedBytes = Int(status.st_blocks) * 512
  }
}

extension FileStatus {
  /// Which file it is, whatever its name: two names of one file have the same identity.
  package struct Identity: Hashable, Sendable {
    let device: UInt64
    let inode: UInt64

    /// The file as a descriptor opens it.
    func opened(as descriptor: CInt) -> mmlog_opened {
      mmlog_opened(descriptor: descriptor, device: device, inode: inode)
    }

    /// Whether a descriptor opens this file. If that cannot be found out, the answer is true.
    func isOpen(as descriptor: CInt) -> Bool { mmlog_is_still_open(opened(as: descriptor)) }
  }

  /// Which file it is.
  package var identity: Identity { Identity(device: device, inode: inode) }

  /// The permission bits of ``mode``, such as 0o600.
  package var permissions: UInt32 { mode & 0o7777 }

  /// True for an ordinary file.
  package var isRegularFile: Bool { mode & S_IFMT == S_IFREG }

  /// True for a directory.
  package var isDirectory: Bool { mode & S_IFMT == S_IFDIR }

  /// True for a character or block device, such as `/dev/zero`, a terminal or a disk.
  package var isDevice: Bool { [S_IFCHR, S_IFBLK].contains(mode & S_IFMT) }

  /// True for a symbolic link, which only ``Directory/status(of:)`` can meet.
  package var isSymbolicLink: Bool { mode & S_IFMT == S_IFLNK }
}
