package import CMMLogC
package import MMLog

extension Logger {
  /// The same logger as C has it.
  package var inC: UnsafeMutablePointer<mmlog_logger> {
    UnsafeMutableRawPointer(shared).assumingMemoryBound(to: mmlog_logger.self)
  }
}
