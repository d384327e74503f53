/// Named steps at which a crash test may end the process. Nothing in release builds.
package enum TestPoint {
  #if DEBUG
    /// Called with the name of each step that is reached. Set once, before threads are started.
    nonisolated(unsafe) package static var handler: (@Sendable (StaticString) -> Void)?
  #endif

  /// Says that a step has been reached.
  @inline(__always)
  package static func reach(_ name: StaticString) {
    #if DEBUG
      handler?(name)
    #endif
  }
}
