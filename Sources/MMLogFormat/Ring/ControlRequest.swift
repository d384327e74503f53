/// What somebody outside wants a running process to do at once: a word of its ring's control page
/// (FORMAT.md, 3). One word, so that it is stored whole or not at all.
///
/// Whatever it is, everything that was logged before is moved to an archive first.
package struct ControlRequest: Equatable, Sendable {
  /// What is to be done when everything is archived.
  package struct Actions: OptionSet, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Flight records are moved to an archive, too.
    package static let capture = Actions(rawValue: 1)
    /// The archive is sealed.
    package static let rotate = Actions(rawValue: 2)
    /// The archives are made safe from a power cut.
    package static let sync = Actions(rawValue: 4)
  }

  /// Counts requests from 1.
  package var ordinal: UInt32
  /// What a later version has in addition is passed over.
  package var actions: Actions

  package init(ordinal: UInt32, _ actions: Actions) {
    (self.ordinal, self.actions) = (ordinal, actions)
  }

  package init(word: UInt64) {
    ordinal = UInt32(truncatingIfNeeded: word)
    actions = Actions(rawValue: UInt32(word >> 32))
  }

  package var word: UInt64 { UInt64(actions.rawValue) << 32 | UInt64(ordinal) }

  /// The request that follows this one.
  ///
  /// - Parameter answer: The newest answer. What it does not answer is asked for again.
  package func next(_ new: Actions, after answer: ControlAnswer) -> ControlRequest {
    let rest = answer.answers(ordinal) ? [] : actions
    return ControlRequest(ordinal: ordinal &+ 1, rest.union(new))
  }
}

/// What a process says to a ``ControlRequest`` that it has done: a word of the control page.
package struct ControlAnswer: Equatable, Sendable {
  /// The newest request that it answers.
  package var ordinal: UInt32
  /// Why it failed, as errno(3) numbers it; 0: it did not.
  package var errorNumber: UInt32

  package init(ordinal: UInt32, errorNumber: UInt32) {
    (self.ordinal, self.errorNumber) = (ordinal, errorNumber)
  }

  package init(word: UInt64) {
    ordinal = UInt32(truncatingIfNeeded: word)
    errorNumber = UInt32(word >> 32)
  }

  package var word: UInt64 { UInt64(errorNumber) << 32 | UInt64(ordinal) }

  /// Whether it answers a request: that one, or a later one, which was made of it. Ordinals begin
  /// anew behind the greatest.
  package func answers(_ request: UInt32) -> Bool { Int32(bitPattern: ordinal &- request) >= 0 }
}
