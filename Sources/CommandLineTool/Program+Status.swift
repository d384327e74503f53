extension Program {
  /// What a program says to its caller when it ends.
  package struct Status: RawRepresentable, Equatable, Sendable {
    /// The number: 0 to 125; the shell uses those above.
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
