import Glibc
import MMLogReader
import MMLogStorage
import MMLogSystem

/// What support has to know of the machine.
enum MachineFacts {
  /// Returns the kernel, processors, memory, and the file systems of some directories, as JSON.
  static func json(of folders: [String]) -> String {
    var object = JSONObject()
    var system = utsname()
    if uname(&system) == 0 {
      object.add("system", text(system.sysname))
      object.add("kernel", text(system.release))
      object.add("kernel_version", text(system.version))
      object.add("processor", text(system.machine))
    }
    object.add("host", Host.name())
    object.add("boot_id", Host.bootID().map(\.allHexDigits).joined())
    object.add("page_bytes", Host.pageSize)
    object.add("processors", sysconf(CInt(_SC_NPROCESSORS_ONLN)))
    object.add(
      "memory_bytes", sysconf(CInt(_SC_PHYS_PAGES)).multipliedFullWidth(by: Host.pageSize).low)
    object.add("time_zone", Host.timeZoneName())
    object.add("user_id", CurrentProcess.effectiveUserID)
    object.add("file_systems", json: JSONObject.array(folders.map(fileSystem)))
    return object.text + "\n"
  }

  private static func fileSystem(_ folder: String) -> String {
    var object = JSONObject()
    object.add("path", folder)
    object.add("type", type(ofFileSystem: folder))
    if let space = try? Directory.open(folder).freeSpace() {
      object.add("free_bytes", space.available)
      object.add("total_bytes", space.total)
    }
    return object.text
  }

  /// Returns the type as mount(8) calls it. The folder's path begins with the place of the mount;
  /// of several such mounts, the one with the longest place counts, and of these the last.
  private static func type(ofFileSystem folder: String) -> String? {
    guard let real = realpath(folder, nil) else { return nil }
    defer { free(real) }
    let path = String(cString: real) + "/"
    let mounts = (try? File.open("/proc/self/mounts", .read).bytes(at: 0, count: 1 << 20)) ?? []
    var best: (length: Int, type: String)?
    for line in String(decoding: mounts, as: UTF8.self).split(separator: "\n") {
      let parts = line.split(separator: " ")
      guard parts.count > 2 else { continue }
      let place = parts[1] == "/" ? "/" : unescaped(parts[1]) + "/"
      if path.hasPrefix(place), place.utf8.count >= best?.length ?? 0 {
        best = (place.utf8.count, String(parts[2]))
      }
    }
    return best?.type
  }

  /// Returns a place as its name is: the kernel writes a space as `\040`, and tabs, ends of lines
  /// and backslashes likewise.
  private static func unescaped(_ place: Substring) -> String {
    var parts = place.split(separator: "\\", omittingEmptySubsequences: false)[...]
    var bytes = parts.popFirst().map { Array($0.utf8) } ?? []
    for part in parts {
      bytes += UInt8(part.prefix(3), radix: 8).map { [$0] } ?? []
      bytes += part.dropFirst(3).utf8
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Returns the text of a field up to a zero.
  private static func text<Field>(_ field: Field) -> String {
    withUnsafeBytes(of: field) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }
}
