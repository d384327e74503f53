extension Program {
  /// The exit status with which a program ends.
  package struct Status: RawRepresentable, Equatable, Sendable {
    /// The number: 0 to 125. The shell uses greater numbers itself.
    package let rawValue: Int32

    /// The status with a number.
    package init(rawValue: Int32) { self.rawValue = rawValue }

    /// All went well.
    package static let success = Status(rawValue: 0)

    /// Something went wrong.
    package static let failure = Status(rawValue: 1)

    /// The command line was wrong.
    package static let usage = Status(rawValue: 2)
  }
}
