import CampaignSupport
import Glibc
import MMLogSystem

/// A file system in a file, which can be cut off as a power cut does. Only for root.
final class Disk {
  /// Where it is mounted.
  let folder: String
  private let file: String
  private let output: String
  private var isMounted = false

  init(in place: String) throws {
    (folder, file, output) = ("\(place)/mount", "\(place)/disk", "\(place)/tools")
    try Folder.make(folder)
    let disk = try File.open(file, [.write, .create])
    try disk.truncate(to: 64 << 20)
    try ChildProcess.run("mkfs.ext4", ["-q", "-F", file], output: output)
  }

  deinit { unmount() }

  /// The kernel gives the loop device back when it is unmounted.
  func mount() throws {
    try ChildProcess.run("mount", ["-o", "loop", file, folder], output: output)
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

  /// Nothing that is not on the disk gets there any more: ioctl(2) FS_IOC_SHUTDOWN without flushing the log.
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
