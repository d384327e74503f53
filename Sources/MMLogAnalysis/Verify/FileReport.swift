public import MMLogFormat
public import MMLogReader

/// What is known of one file: what `LogFiles.inspect()` and `LogFiles.verify(progress:)` found.
public struct FileReport: Sendable {
  /// The file.
  public let path: String
  /// Whether it is a ring; else it is an archive.
  public let isRing: Bool
  /// Who wrote it.
  public let identity: SessionIdentity
  /// In what condition it is, in a few words, such as `closed`.
  public let state: String
  /// Of an archive: its number in the session, from 1; of a ring 0.
  public let number: Int
  /// How many records it has. In what cannot be read, each part of a large one counts.
  public let recordCount: Int
  /// What it consists of: an archive's frames, or a ring's segments in use.
  public let parts: [Part]
  /// What of it cannot be read or cannot be right. From `LogFiles.inspect()`, that is what is not
  /// in frames or segments; from `LogFiles.verify(progress:)`, all of it.
  public internal(set) var corruption: [LogReader.Corruption] = []
  /// Of an archive whose frames are chained, why that could not be checked; nil: it was. Only from
  /// `LogFiles.verify(progress:)`.
  public internal(set) var unchecked: String?

  /// A frame or a segment.
  public struct Part: Sendable {
    /// Where it begins in the file, in bytes.
    public let offset: Int
    /// How large it is in the file, in bytes.
    public let size: Int
    /// What it is, in a few words.
    public let what: String
    /// How many records it has. A large one that is in several parts counts in the first.
    public let recordCount: Int
    /// When the first and the last of them were logged, parts of large ones included; nil without
    /// any.
    public let times: ClosedRange<Timestamp>?
  }
}

extension LogFiles {
  /// File headers, frames and segments of all files, by session. Frames are decompressed only to
  /// count records: see ``overview(filter:)``.
  ///
  /// - Complexity: O(frames + size of the rings).
  public func inspect() -> [FileReport] {
    sessions.flatMap { session in
      var reports = session.archives.map { archive in
        var report = FileReport(archive)
        report.corruption = archive.corruption + (archive.tail.corruption.map { [$0] } ?? [])
        return report
      }
      if let ring = session.ring {
        var report = FileReport(ring)
        // Of one in use, parts may be about to be written.
        if !ring.isRunning { report.corruption = ring.image.corruption }
        reports.append(report)
      }
      return reports
    }
  }

  /// The same, with every checksum, order and count inspected.
  ///
  /// - Parameter progress: Is notified of each file when it is begun; false ends the work before
  ///   that.
  /// - Complexity: O(size of the files).
  public func verify(progress: (String) -> Bool = { _ in true }) -> [FileReport] {
    var reports: [FileReport] = []
    verify(progress: progress) { reports.append($0) }
    return reports
  }

  /// The same, file by file.
  ///
  /// - Parameter body: Takes a file's report before the next file is begun.
  package func verify<Failure: Error>(
    progress: (String) -> Bool, _ body: (FileReport) throws(Failure) -> Void
  ) throws(Failure) {
    for session in sessions {
      var summary = SessionSummary()
      summary.read(session)
      let chain = ChainCheck(session)
      for (index, archive) in session.archives.enumerated() {
        guard progress(archive.path) else { return }
        var report = FileReport(archive)
        let known = (summary.corruption[index] ?? []) + (chain.corruption[index] ?? [])
        report.unchecked = chain.problems[index]
        report.corruption = FileCheck.corruption(in: archive, known: known)
        try body(report)
      }
      if let ring = session.ring {
        guard progress(ring.image.path) else { return }
        var report = FileReport(ring)
        report.corruption = FileCheck.corruption(in: ring, summary)
        try body(report)
      }
    }
  }
}
