import TestSupport
import Glibc
import MMLogSystem

/// The files that the process has open or mapped, as /proc says.
struct OpenThings {
  private var descriptors: [String] = []
  private var mappings: [String] = []

  /// - Parameter folder: Only mappings of files in this folder are counted.
  init(in folder: String) {
    for name in (try? Folder.names("/proc/self/fd")) ?? [] {
      var buffer = [CChar](repeating: 0, count: 4096)
      // The descriptor that listed them is closed by now.
      guard readlink("/proc/self/fd/\(name)", &buffer, buffer.count - 1) > 0 else { continue }
      let target = buffer.withUnsafeBytes { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      // The runtime's threads have anonymous inodes.
      if !target.hasSuffix("/fd") && !target.hasPrefix("anon_inode:") { descriptors.append(target) }
    }
    let maps = (try? OpenThings.text(of: "/proc/self/maps")) ?? ""
    mappings = maps.split(separator: "\n").filter { $0.contains(folder) }.map(String.init)
  }

  /// All mappings, and the descriptors that another does not have.
  func beyond(_ other: OpenThings) -> [String] {
    var rest = other.descriptors
    return mappings
      + descriptors.filter { name in
        guard let index = rest.firstIndex(of: name) else { return true }
        rest.remove(at: index)
        return false
      }
  }

  /// The size of the process's address space, in bytes.
  static func memory() throws -> Int {
    let pages = try text(of: "/proc/self/statm").split(separator: " ").first.flatMap { Int($0) }
    return (pages ?? 0) * Host.pageSize
  }

  /// The text of a file that says it has no size.
  private static func text(of path: String) throws -> String {
    let file = try File.open(path, .read)
    var text: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while case let count = try chunk.withUnsafeMutableBytes({ try file.read(into: $0) }), count > 0
    {
      text += chunk[..<count]
    }
    return String(decoding: text, as: UTF8.self)
  }
}
