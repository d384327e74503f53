import Glibc

/// The system's groups of users.
package enum Groups {
  /// The number of a group: getgrnam_r(3).
  ///
  /// - Parameter name: Its name, or its number in decimal digits, as chown(1) takes them.
  /// - Returns: nil if there is no such group.
  package static func number(of name: String) -> UInt32? {
    if name.isEmpty || name.utf8.contains(0) { return nil }
    var entry = group()
    // A group's members are listed, too: there may be thousands.
    var size = 4096
    while size <= 16 << 20 {
      var found: UnsafeMutablePointer<group>?
      let code = withUnsafeTemporaryAllocation(of: CChar.self, capacity: size) { buffer in
        getgrnam_r(name, &entry, buffer.baseAddress, buffer.count, &found)
      }
      if code == 0, found != nil { return entry.gr_gid }
      if code != ERANGE { break }
      size *= 4
    }
    // All ones stands for no group.
    return UInt32(name).flatMap { $0 == .max ? nil : $0 }
  }
}
