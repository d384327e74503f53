import MMLogFormat

/// Something in an archive's file whose check is right: what it is, where it stands, and which archive
/// it names.
struct ArchiveElement {
  enum Kind {
    // Heads are large and rare.
    indirect case head(ArchiveHead)
    case frame(FrameHeader)
    case trailer(Trailer)
  }

  let kind: Kind
  let offset: Int
  let size: Int

  var end: Int { offset + size }

  var archive: ArchiveID {
    switch kind {
    case .head(let head): head.id
    case .frame(let header): header.archive
    case .trailer(let trailer): trailer.archive
    }
  }

  /// What it is, in words.
  var name: String {
    switch kind {
    case .head: "the head"
    case .frame: "a frame"
    case .trailer: "the trailer"
    }
  }

  var isTrailer: Bool {
    if case .trailer = kind { true } else { false }
  }

  var head: ArchiveHead? {
    if case .head(let head) = kind { head } else { nil }
  }

  /// Where its archive begins, of a trailer that says a possible size.
  var archiveStart: Int? {
    guard case .trailer(let trailer) = kind, let size = Int(exactly: trailer.fileSize),
      size >= HeadLayout.size + self.size, size <= end
    else { return nil }
    return end - size
  }
}
