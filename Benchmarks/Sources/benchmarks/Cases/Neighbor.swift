import Glibc

/// A process that makes the disk busy: writes a megabyte, syncs it, and again.
enum Neighbor {
  static func run(in directory: String) throws -> Never {
    let file = open("\(directory)/neighbor", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw BenchmarkError("the neighbor has no file in \(directory)") }
    let megabyte = [UInt8](repeating: 0x5a, count: 1 << 20)
    var offset = 0
    while true {
      megabyte.withUnsafeBytes { _ = pwrite(file, $0.baseAddress, $0.count, offset) }
      fdatasync(file)
      offset = (offset + megabyte.count) % (256 << 20)
    }
  }

  /// Runs such a process while `body` runs.
  static func with(in directory: String, _ body: () throws -> Void) throws {
    let child = try Child(nil, ["child", "neighbor", directory])
    defer {
      child.kill()
      Files.remove("\(directory)/neighbor")
    }
    usleep(50_000)
    try body()
  }
}
