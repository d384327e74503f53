import TestSupport
import Glibc
import MMLogSystem

/// A file system in a file, which can be cut off as a power cut does. Only for root.
final class Disk {
  /// Where it is mounted.
  let folder: String
  private let file: String
  private let output: String
  private var isMounted = false

  /// - Parameter size: In bytes.
  init(in place: String, size: Int = 64 << 20) throws {
    (folder, file, output) = ("\(place)/mount", "\(place)/disk", "\(place)/tools")
    try Folder.make(folder)
    let disk = try File.open(file, [.write, .create])
    try disk.truncate(to: size)
    try ChildProcess.run("mkfs.ext4", ["-q", "-F", file], output: output)
  }

  deinit { unmount() }

  /// The kernel frees the loop device when the file system is unmounted.
  func mount(options: String = "defaults") throws {
    try ChildProcess.run("mount", ["-o", "loop,\(options)", file, folder], output: output)
    isMounted = true
  }

  func unmount() {
    guard isMounted else { return }
    isMounted = false
    for _ in 0..<50 where (try? ChildProcess.run("umount", [folder], output: output)) == nil {
      usleep(20_000)
    }
  }

  func remount() throws {
    unmount()
    try mount()
  }

  /// Changes how it is mounted, such as `remount,ro`. A thread that has a file open for a moment
  /// prevents the change, so it is tried again.
  func change(_ options: String) throws {
    let arguments = ["-o", options, folder]
    for _ in 0..<50 {
      if (try? ChildProcess.run("mount", arguments, output: output)) != nil { return }
      usleep(20_000)
    }
    try ChildProcess.run("mount", arguments, output: output)
  }

  /// Informs the kernel that there is an error in the file system: it does what `errors=` said when
  /// it was mounted.
  func breakIt() throws {
    var status = stat()
    guard stat(folder, &status) == 0 else { throw Failure("\(folder): errno \(errno)") }
    let number = "\(status.st_dev >> 8 & 0xFFF):\(status.st_dev & 0xFF)"
    var name = [CChar](repeating: 0, count: 4096)
    guard readlink("/sys/dev/block/\(number)", &name, name.count - 1) > 0 else {
      throw Failure("/sys/dev/block/\(number): errno \(errno)")
    }
    let path = name.withUnsafeBytes { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    let device = path.split(separator: "/").last ?? ""
    let file = try File.open("/sys/fs/ext4/\(device)/trigger_fs_error", .write)
    try Array("torture".utf8).withUnsafeBytes { try file.writeFully($0) }
  }

  /// Keeps everything that is not on the disk from getting there: ioctl(2) FS_IOC_SHUTDOWN without
  /// flushing the log.
  func cutOff() throws {
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw Failure("\(folder): errno \(errno)") }
    defer { close(descriptor) }
    // _IOR('X', 125, __u32), and EXT4_GOING_FLAGS_NOLOGFLUSH.
    var flag: UInt32 = 2
    guard ioctl(descriptor, 0x8004_587D, &flag) == 0 else {
      throw Failure("cutting \(folder) off: errno \(errno)")
    }
  }
}
