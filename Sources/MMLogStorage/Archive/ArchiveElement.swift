import MMLogFormat

/// Something in an archive's file whose checksum is right: what it is, where it stands, and which
/// archive it names.
struct ArchiveElement {
  enum Kind {
    // File headers are large and rare.
    indirect case fileHeader(ArchiveHeader)
    case frame(FrameHeader)
    case trailer(Trailer)
  }

  let kind: Kind
  let offset: Int
  let size: Int

  var end: Int { offset + size }

  var archive: ArchiveID {
    switch kind {
    case .fileHeader(let fileHeader): fileHeader.id
    case .frame(let header): header.archive
    case .trailer(let trailer): trailer.archive
    }
  }

  /// What it is, in words.
  var name: String {
    switch kind {
    case .fileHeader: "the file header"
    case .frame: "a frame"
    case .trailer: "the trailer"
    }
  }

  var isTrailer: Bool {
    if case .trailer = kind { true } else { false }
  }

  var fileHeader: ArchiveHeader? {
    if case .fileHeader(let fileHeader) = kind { fileHeader } else { nil }
  }

  /// Where the archive of a trailer begins; nil for other elements, and if the trailer says an
  /// impossible size.
  var archiveStart: Int? {
    guard case .trailer(let trailer) = kind, let size = Int(exactly: trailer.fileSize),
      size >= FileHeaderLayout.size + self.size, size <= end
    else { return nil }
    return end - size
  }
}
