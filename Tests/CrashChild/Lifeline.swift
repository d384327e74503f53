import Glibc
import MMLogSystem

/// The connection to the process that has started this one, as descriptor 3.
enum Lifeline {
  /// Ends this process when the connection's other end is gone: nobody else would end it then.
  static func watch() throws {
    _ = try Thread(name: "lifeline") {
      var byte: UInt8 = 0
      while read(3, &byte, 1) < 0 && errno == EINTR {}
      CurrentProcess.die()
    }
  }
}
