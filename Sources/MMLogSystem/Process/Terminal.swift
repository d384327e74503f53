import Glibc

/// Facts about the terminal that text may go to.
package enum Terminal {
  /// Whether a descriptor is a terminal's: isatty(3).
  package static func has(_ descriptor: CInt) -> Bool { isatty(descriptor) != 0 }

  /// Whether text on a terminal may have colors: not if `NO_COLOR` has a value
  /// (https://no-color.org), and not on terminals that know no colors.
  package static var mayHaveColors: Bool {
    variable("NO_COLOR").isEmpty && variable("TERM") != "dumb"
  }

  private static func variable(_ name: String) -> String {
    getenv(name).map { String(cString: $0) } ?? ""
  }
}
