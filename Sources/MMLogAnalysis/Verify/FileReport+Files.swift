import MMLogFormat
import MMLogReader
import MMLogStorage

extension FileReport {
  init(_ archive: ArchiveFile) {
    path = archive.path
    isRing = false
    identity = archive.fileHeader.identity
    number = Int(archive.fileHeader.number)
    let closing =
      archive.isClosed
      ? "closed"
      : archive.tail.tornBytes > 0
        ? "not closed, \(archive.tail.tornBytes) bytes of a frame at its end" : "not closed"
    state = archive.isChained ? "\(closing), chained" : closing
    parts = archive.frames.map { Part($0, of: archive) }
    recordCount = archive.recordCount
  }

  init(_ ring: RingView) {
    let image = ring.image
    path = image.path
    isRing = true
    identity = image.fileHeader.identity
    number = 0
    state =
      ring.isRunning
      ? "its process lives" : ring.end.summary
    parts = image.segments.map { Part($0, of: image, isRunning: ring.isRunning) }
    recordCount = parts.reduce(0) { $0 + $1.recordCount }
  }
}

extension FileReport.Part {
  fileprivate init(_ frame: ArchiveFile.Frame, of archive: ArchiveFile) {
    let header = frame.header
    let isOfRecords = header.type == .records
    offset = frame.offset
    size = header.frameSize
    recordCount = archive.recordCount(of: frame)
    let arrangement = isOfRecords && header.codec.isInColumns ? ", in columns" : ""
    let coder = header.codec == .zlibRows ? ", zlib" : header.codec == .zstdColumns ? ", zstd" : ""
    let name = header.isFlight ? "a frame of flight records" : header.type.name
    what =
      "\(name)\(arrangement)\(coder)\(header.effort.remark), \(header.rawSize) bytes when read"
    let (first, last) = (header.summary.firstWall, header.summary.lastWall)
    times = isOfRecords && first <= last ? first...last : nil
  }

  fileprivate init(_ segment: RingImage.Segment, of image: RingImage, isRunning: Bool) {
    let header = segment.header
    offset = image.fileHeader.geometry.offset(ofSegment: segment.index)
    size = image.fileHeader.geometry.segmentSize
    var (count, archived) = (0, 0)
    var ticks: (first: UInt64, last: UInt64) = (.max, 0)
    var scanner = image.scanner(of: segment, zeros: isRunning ? .end : .mayBeLost)
    while let item = scanner.next() {
      guard case .record(let view, let offset) = item else { continue }
      if view.isCounted {
        count += 1
        if offset < header.archived { archived += 1 }
      }
      ticks = (min(ticks.first, view.ticks), max(ticks.last, view.ticks))
    }
    recordCount = count
    let state = header.state == SegmentLayout.stateSealed ? "sealed" : "open"
    let thread =
      header.thread.ordinal == 0
      ? "shared by threads" : "of thread \(header.thread.id) \(header.thread.name)"
    what =
      "segment \(segment.index), \(state), generation \(header.generation), \(thread), "
      + "\(archived) archived"
    let (first, last) = (image.clock.wall(at: ticks.first), image.clock.wall(at: ticks.last))
    times = ticks.first <= ticks.last ? first...max(first, last) : nil
  }
}

extension TextEffort {
  /// What a report says of the compression of a frame.
  fileprivate var remark: String {
    switch self {
    case .full: ""
    case .reduced: ", text compressed in haste"
    case .none: ", text stored in haste"
    case .thorough: ", compressed at leisure"
    }
  }
}
