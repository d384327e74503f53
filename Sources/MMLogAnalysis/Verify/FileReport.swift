public import MMLogFormat
public import MMLogReader

/// What `LogFiles.inspect()` and `LogFiles.verify(progress:)` found out about one file.
public struct FileReport: Sendable {
  /// The file.
  public let path: String
  /// True for a ring, false for an archive.
  public let isRing: Bool
  /// The session that wrote the file.
  public let identity: SessionIdentity
  /// The condition of the file, in a few words, such as `closed`.
  public let state: String
  /// The number of an archive in its session, from 1; 0 for a ring.
  public let number: Int
  /// The number of records. In frames that cannot be read, each fragment of a record counts.
  public let recordCount: Int
  /// The parts of the file: an archive's frames, or a ring's segments in use.
  public let parts: [Part]
  /// What cannot be read or cannot be right. `LogFiles.inspect()` reports only corruption outside
  /// frames and segments; `LogFiles.verify(progress:)` reports all of it.
  public internal(set) var corruption: [LogReader.Corruption] = []
  /// Why the hash chain of an archive could not be checked; nil if it was checked, or if the frames
  /// are not chained. Only `LogFiles.verify(progress:)` sets it.
  public internal(set) var unchecked: String?

  /// A frame or a segment.
  public struct Part: Sendable {
    /// Where the part begins in the file, in bytes.
    public let offset: Int
    /// The size of the part in the file, in bytes.
    public let size: Int
    /// What the part is, in a few words.
    public let what: String
    /// The number of records. A record in several parts counts in the first one.
    public let recordCount: Int
    /// When the first and the last of the records were logged, fragments included; nil if there are
    /// none.
    public let times: ClosedRange<Timestamp>?
  }
}

extension LogFiles {
  /// Describes the file headers, frames and segments of all files, by session. Frames are
  /// decompressed only to count records: see ``overview(filter:)``.
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
        // In a ring that is in use, parts may not be written yet.
        if !ring.isRunning { report.corruption = ring.image.corruption }
        reports.append(report)
      }
      return reports
    }
  }

  /// Describes all files, as ``inspect()`` does, and checks every checksum, order and count.
  ///
  /// - Parameter progress: Is called with the path of each file before the file is checked. False
  ///   ends the work.
  /// - Complexity: O(size of the files).
  public func verify(progress: (String) -> Bool = { _ in true }) -> [FileReport] {
    var reports: [FileReport] = []
    verify(progress: progress) { reports.append($0) }
    return reports
  }

  /// As ``verify(progress:)``, file by file.
  ///
  /// - Parameter body: Takes a file's report before the next file is begun.
  package func verify<Failure: Error>(
    progress: (String) -> Bool, _ body: (FileReport) throws(Failure) -> Void
  ) throws(Failure) {
    for session in sessions {
      let summary = SessionSummary(session)
      let chain = ChainCheck(session)
      for (index, archive) in session.archives.enumerated() {
        guard progress(archive.path) else { return }
        var report = FileReport(archive)
        report.unchecked = chain.problems[index]
        report.corruption = FileCheck.corruption(in: archive, at: index, summary, chain)
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

  /// The corruption of the archives, as ``verify(progress:)`` finds it.
  ///
  /// - Parameter most: After so much corruption, no more frames are inspected.
  package func corruptionOfArchives(atMost most: Int) -> [LogReader.Corruption] {
    var found: [LogReader.Corruption] = []
    for session in sessions where found.count < most {
      let (summary, chain) = (SessionSummary(session), ChainCheck(session))
      for (index, archive) in session.archives.enumerated() where found.count < most {
        found += FileCheck.corruption(
          in: archive, at: index, summary, chain, atMost: most - found.count)
      }
    }
    return found
  }
}
