import CMMLogCore
import Glibc

/// Names of functions as the linker has them.
package enum SwiftName {
  /// The name of one of Swift's functions as its source has it; nil if it is no such name. Swift's
  /// runtime finds the name.
  package static func demangled(_ name: String) -> String? {
    guard let text = swift_demangle(name, name.utf8.count, nil, nil, 0) else { return nil }
    defer { free(text) }
    return String(cString: text)
  }
}
