/// What a running process is asked from outside to do at once: a word of its ring's control page
/// (FORMAT.md, 3). It is one word, so that it is stored whole or not at all.
///
/// Whatever the request is, the process first moves everything that was logged before to an
/// archive.
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
  /// Bits of later versions are passed over.
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
  /// - Parameter answer: The newest answer. If this request is not answered, its actions are asked
  ///   for again.
  package func next(_ new: Actions, after answer: ControlAnswer) -> ControlRequest {
    let rest = answer.answers(ordinal) ? [] : actions
    return ControlRequest(ordinal: ordinal &+ 1, rest.union(new))
  }
}

/// A process's answer to a ``ControlRequest`` that it has done: a word of the control page.
package struct ControlAnswer: Equatable, Sendable {
  /// The ordinal of the newest request that it answers.
  package var ordinal: UInt32
  /// Why the request failed, as errno(3) numbers it; 0: it did not.
  package var errorNumber: UInt32

  package init(ordinal: UInt32, errorNumber: UInt32) {
    (self.ordinal, self.errorNumber) = (ordinal, errorNumber)
  }

  package init(word: UInt64) {
    ordinal = UInt32(truncatingIfNeeded: word)
    errorNumber = UInt32(word >> 32)
  }

  package var word: UInt64 { UInt64(errorNumber) << 32 | UInt64(ordinal) }

  /// Whether it answers a request: that one, or a later one, which includes what was not answered.
  /// Behind the greatest ordinal, ordinals begin anew.
  package func answers(_ request: UInt32) -> Bool { Int32(bitPattern: ordinal &- request) >= 0 }
}
