package import MMLogSystem

import Glibc

/// Standard output with a buffer, for one thread.
///
/// A reader that goes away (`| head`) is not an error: what is printed from then on is dropped, and
/// ``hasReader`` says so, for a loop that would work for nobody.
package final class StandardOutput {
  /// Bytes that are collected before they are written.
  package static let capacity = 64 * 1024

  /// False once a write or a pause has met a pipe that nobody reads.
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

  /// Prints to another file from now on. What is in the buffer goes there, too.
  package func redirect(to file: consuming File) { self.file = file }

  /// Prints text.
  ///
  /// - Throws: if a full buffer cannot be written. The buffer is dropped then, as it is not known
  ///   how much of it was.
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

  /// Writes what is in the buffer: write(2), repeated.
  ///
  /// - Throws: as ``append(_:)-(String)``.
  package func flush() throws(SystemError) {
    defer { buffer.removeAll(keepingCapacity: true) }
    try write(buffer.span.bytes)
  }

  /// Waits until what was written is safe from a power cut, where that is a file: fdatasync(2).
  ///
  /// - Throws: EIO and others: it may not be.
  package func sync() throws(SystemError) {
    if try file.status().isRegularFile { try file.syncData() }
  }

  /// Waits, and no longer than somebody reads.
  ///
  /// - Parameter milliseconds: For how long.
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
