import Glibc

/// The machine, and how it is set up.
package enum Host {
  /// The size of a page of memory in bytes: sysconf(3).
  package static let pageSize = max(sysconf(CInt(_SC_PAGESIZE)), 4096)

  /// The host's name: gethostname(2); empty if there is none.
  package static func name() -> String {
    string(capacity: 256) { gethostname($0, $1) == 0 }
  }

  /// The UUID that the kernel gave to this boot; zeros if it cannot be read:
  /// /proc/sys/kernel/random/boot_id.
  package static func bootID() -> [UInt8] { currentBootID }

  /// Read once: no process outlives a boot.
  private static let currentBootID: [UInt8] = {
    let digits = contents(of: "/proc/sys/kernel/random/boot_id").compactMap(\.hexDigitValue)
    if digits.count != 32 { return [UInt8](repeating: 0, count: 16) }
    return stride(from: 0, to: 32, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }()

  /// The local time zone's name, such as `Europe/Berlin`: the variable TZ, else where
  /// /etc/localtime points to, else /etc/timezone, else `UTC`.
  package static func timeZoneName() -> String {
    timeZoneName(
      variable: getenv("TZ").map { String(cString: $0) },
      link: "/etc/localtime", file: "/etc/timezone")
  }

  /// Applies the same rule to three given sources.
  package static func timeZoneName(variable: String?, link: String, file: String) -> String {
    if let variable {
      // POSIX: set but empty means UTC, and glibc reads ":name" as name.
      let path = variable.hasPrefix(":") ? String(variable.dropFirst()) : variable
      let name = zone(in: path) ?? path
      return name.isEmpty ? "UTC" : name
    }
    if let name = zone(in: target(of: link)) { return name }
    let name = contents(of: file).prefix { !$0.isWhitespace }
    return name.isEmpty ? "UTC" : String(name)
  }

  /// The part of a path below zoneinfo/ (and below its variants posix/ and right/); nil: it has no
  /// such folder.
  private static func zone(in path: String) -> String? {
    let folder = "zoneinfo/".utf8
    var rest = path.utf8[...]
    guard let start = rest.indices.first(where: { rest[$0...].starts(with: folder) })
    else { return nil }
    rest = rest[start...].dropFirst(folder.count)
    for variant in ["posix/", "right/"] where rest.starts(with: variant.utf8) {
      rest = rest.dropFirst(variant.utf8.count)
    }
    return String(Substring(rest))
  }

  /// The target of a symbolic link; empty if it is no link: readlink(2).
  static func target(of link: String) -> String {
    string(capacity: 4096) { readlink(link, $0, $1) > 0 }
  }

  /// A small text file's first kilobytes; empty if it cannot be read.
  static func contents(of path: String) -> String {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 1)
    defer { buffer.deallocate() }
    do throws(SystemError) {
      let count = try File.open(path, .read).read(into: buffer)
      return String(decoding: buffer[..<count], as: UTF8.self)
    } catch {
      return ""
    }
  }

  /// All of a file of /proc that may be long; empty if it cannot be read.
  static func wholeContents(of path: String) -> String {
    var bytes: [UInt8] = []
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 1)
    defer { buffer.deallocate() }
    do throws(SystemError) {
      let file = try File.open(path, .read)
      while true {
        let count = try file.read(into: buffer)
        if count == 0 { return String(decoding: bytes, as: UTF8.self) }
        bytes += buffer[..<count]
      }
    } catch {
      return ""
    }
  }

  /// The text that a C function puts into a zeroed buffer, with or without a zero at its end.
  private static func string(
    capacity: Int, _ fill: (UnsafeMutablePointer<CChar>, Int) -> Bool
  ) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: capacity) { buffer in
      buffer.initialize(repeating: 0)
      guard let base = buffer.baseAddress, fill(base, buffer.count - 1) else { return "" }
      return String(cString: base)
    }
  }
}
