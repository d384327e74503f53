package import CMMLogC
import CMMLogWriter
package import MMLog

extension Logger {
  /// The logger that a program in C has.
  package init(inC logger: UnsafeMutablePointer<mmlog_logger>) {
    self.init(UnsafeMutableRawPointer(logger).assumingMemoryBound(to: mmlog_label.self))
  }

  /// The same logger, as a program in C has it.
  package var inC: UnsafeMutablePointer<mmlog_logger> {
    UnsafeMutableRawPointer(shared).assumingMemoryBound(to: mmlog_logger.self)
  }
}
