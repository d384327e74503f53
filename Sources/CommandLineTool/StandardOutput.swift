package import MMLogSystem

import Glibc

/// Standard output with a buffer, for one thread.
///
/// A reader that goes away (`| head`) is not an error. Output after that is dropped, and
/// ``hasReader`` is false: a loop can end early.
package final class StandardOutput {
  /// The size of the buffer in bytes.
  package static let capacity = 64 * 1024

  /// False after a write or a pause has found that nobody reads the pipe.
  package private(set) var hasReader = true

  private var file: File
  private var buffer: [UInt8] = []

  /// Prints to an open file, as tests do.
  package init(to file: consuming File) {
    self.file = file
    buffer.reserveCapacity(Self.capacity)
  }

  /// Prints to standard output, through a descriptor of its own.
  package convenience init() throws(SystemError) {
    self.init(to: try File.duplicate(STDOUT_FILENO, path: "standard output"))
  }

  /// Prints to another file from now on. Bytes that are still in the buffer go to the new file,
  /// too.
  package func redirect(to file: consuming File) { self.file = file }

  /// Prints text.
  ///
  /// - Throws: if a full buffer cannot be written. Then the buffer is dropped, because it is not
  ///   known how much of it was written.
  package func append(_ text: String) throws(SystemError) {
    try append(text.utf8.span.bytes)
  }

  /// Prints bytes as they are.
  ///
  /// - Throws: as ``append(_:)-(String)``.
  package func append(_ bytes: RawSpan) throws(SystemError) {
    if buffer.count + bytes.byteCount > Self.capacity { try flush() }
    if bytes.byteCount > Self.capacity { return try write(bytes) }
    bytes.withUnsafeBytes { buffer.append(contentsOf: $0) }
  }

  /// Writes the buffer: write(2), repeated.
  ///
  /// - Throws: as ``append(_:)-(String)``.
  package func flush() throws(SystemError) {
    defer { buffer.removeAll(keepingCapacity: true) }
    try write(buffer.span.bytes)
  }

  /// If standard output is a file, waits until its data are safe from a power cut: fdatasync(2).
  ///
  /// - Throws: EIO and others. Then the data may not be safe.
  package func sync() throws(SystemError) {
    if try file.status().isRegularFile { try file.syncData() }
  }

  /// Waits, but ends early if the reader goes away.
  ///
  /// - Parameter milliseconds: The maximum time.
  package func pause(milliseconds: CInt) throws(SystemError) {
    if try file.waitForHangup(milliseconds: milliseconds) { hasReader = false }
  }

  private func write(_ bytes: RawSpan) throws(SystemError) {
    guard hasReader, bytes.byteCount > 0 else { return }
    do throws(SystemError) {
      try bytes.withUnsafeBytes { (bytes) throws(SystemError) in try file.writeFully(bytes) }
    } catch {
      guard error.errno == EPIPE else { throw error }
      hasReader = false
    }
  }
}
