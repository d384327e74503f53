import CMMLogCore
import Glibc

extension File {
  /// Sets an extended attribute, new or not: fsetxattr(2).
  ///
  /// - Parameter name: with its name space, such as `user.mmlog.state`.
  /// - Throws: an error that ``SystemError/isNotSupported`` where the file system has none; ENOSPC,
  ///   EDQUOT, E2BIG where the value is too large for it: ext4 has room for some 4 KB in all.
  package func setAttribute(_ name: String, _ value: [UInt8]) throws(SystemError) {
    try checkPath(name, .fsetxattr)
    _ = try retrying(.fsetxattr, path) {
      value.withUnsafeBytes { mmlog_set_attribute(descriptor, name, $0.baseAddress, $0.count) }
    }
  }

  /// An extended attribute's value, nil if the file does not have it: fgetxattr(2).
  ///
  /// - Throws: an error that ``SystemError/isNotSupported`` where the file system has none.
  package func attribute(_ name: String) throws(SystemError) -> [UInt8]? {
    try checkPath(name, .fgetxattr)
    while true {
      do throws(SystemError) {
        return try readAttribute(name, size: attributeSize(name))
      } catch let error where error.errno == ENODATA {
        return nil
      } catch let error where error.errno == ERANGE {
        continue  // it grew between the two calls
      }
    }
  }

  /// Removes an extended attribute; fine if the file does not have it: fremovexattr(2).
  package func removeAttribute(_ name: String) throws(SystemError) {
    try checkPath(name, .fremovexattr)
    do throws(SystemError) {
      _ = try retrying(.fremovexattr, path) { mmlog_remove_attribute(descriptor, name) }
    } catch let error where error.errno == ENODATA {}
  }

  private func attributeSize(_ name: String) throws(SystemError) -> Int {
    try retrying(.fgetxattr, path) { mmlog_get_attribute(descriptor, name, nil, 0) }
  }

  private func readAttribute(_ name: String, size: Int) throws(SystemError) -> [UInt8] {
    if size == 0 { return [] }
    var value = [UInt8](repeating: 0, count: size)
    let count = try retrying(.fgetxattr, path) {
      value.withUnsafeMutableBytes {
        mmlog_get_attribute(descriptor, name, $0.baseAddress, $0.count)
      }
    }
    value.removeLast(size - count)
    return value
  }
}
