import Glibc
import MMLogSystem

/// The connection to who has started this process, as descriptor 3.
enum Lifeline {
  /// Dies when its other end is gone: nobody else would end this process then.
  static func watch() throws {
    _ = try Thread(name: "lifeline") {
      var byte: UInt8 = 0
      while read(3, &byte, 1) < 0 && errno == EINTR {}
      CurrentProcess.die()
    }
  }
}
