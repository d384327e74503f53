public import MMLogReader
import MMLogSystem

/// Shows records on standard error, or another descriptor, as they come.
///
/// ```swift
/// import MMLog
/// import MMLogTaps
///
/// var configuration = LogStore.Configuration()
/// configuration.taps = [LogTap(Console(), from: .warning)]
/// ```
///
/// For people in front of a terminal, and for systems that collect what containers print.
///
/// If nobody reads what is printed, only this tap waits; see ``LogTap``. The same holds if the
/// descriptor is closed, or if a pipe's reader is gone (which raises no `SIGPIPE`).
public struct Console: LogTap.Output {
  private let format: LineFormat
  private let descriptor: Int32
  private var writer: LineWriter

  /// Makes an output that shows records.
  ///
  /// - Parameters:
  ///   - format: How a record is shown.
  ///   - descriptor: The descriptor to write to. Default: standard error. Each write goes to what
  ///     is open there at that time; it stays open.
  ///   - zone: The zone in which times are shown.
  public init(
    as format: LineFormat = .text(), to descriptor: Int32 = 2, zone: LogTimeZone = .local
  ) {
    (self.format, self.descriptor) = (format, descriptor)
    writer = LineWriter(format.makeFormatter(for: descriptor, zone: zone))
  }

  /// Writes lines: write(2).
  ///
  /// - Throws: The system's error. A part of the lines may be written, and comes again.
  public mutating func write(_ records: ArraySlice<LogReader.Record>) throws -> Int {
    let (bytes, count) = writer.lines(of: records)
    try write(bytes)
    return count
  }

  /// Writes a line that says how many records are missing.
  ///
  /// - Throws: As for records.
  public mutating func write(missing count: UInt64) throws {
    try write(Array(format.notice(LogTap.notice(ofMissing: count)).utf8))
  }

  /// Writes to what the descriptor is now: its owner may have put something else there.
  private func write(_ bytes: [UInt8]) throws(SystemError) {
    do throws(SystemError) {
      let file = try File.duplicate(descriptor, path: "console")
      return try write(bytes, to: file)
    } catch {
      guard error.isOutOfDescriptors else { throw error }
    }
    // A process that has no free descriptor has to show just that.
    let file = File(adopting: descriptor, path: "console")
    var failure: SystemError?
    do throws(SystemError) { try write(bytes, to: file) } catch { failure = error }
    _ = file.release()
    if let failure { throw failure }
  }

  private func write(_ bytes: [UInt8], to file: borrowing File) throws(SystemError) {
    try bytes.span.bytes.withUnsafeBytes { (bytes) throws(SystemError) in
      try file.writeFully(bytes)
    }
  }
}
