import MMLogFormat

/// The part of a file that is one archive.
struct ArchivePart {
  let id: ArchiveID
  /// Where it begins; if its file header is lost, as its trailer says, or where the part before it
  /// ends.
  let start: Int
  /// Where the part before it ends.
  let place: Int
  /// From its first own element to its last, with those that stand before and between them by a
  /// fault.
  var elements: ArraySlice<ArchiveElement>

  /// Divides the elements of a file into archives.
  ///
  /// An archive begins with its file header. If a trailer says that its archive begins there, or at
  /// the end of the archive before, all up to the trailer is that archive. Without such a trailer,
  /// an archive ends with the last element that names it before the next file header that has one.
  /// Frames whose file header is lost are an archive if there is room for the file header and for
  /// missing frames.
  ///
  /// - Parameters:
  ///   - elements: What the file has from `place` on.
  ///   - place: Where the first archive has to begin: the file's start, or behind a trailer.
  /// - Complexity: O(elements).
  static func parts(of elements: [ArchiveElement], from place: Int) -> [ArchivePart] {
    var division = Division(elements, from: place)
    while division.step() {}
    return division.parts
  }
}

/// Divides elements into archives, one step for each.
private struct Division {
  private(set) var parts: [ArchivePart] = []
  private let elements: [ArchiveElement]
  /// Trailers, by where their archives begin.
  private var trailers: [Int: Int] = [:]
  /// File headers that have such a trailer, the first one last.
  private var closed: [Int] = []
  /// The elements of each archive; made when it is needed.
  private lazy var indices = Dictionary(grouping: elements.indices) { elements[$0].archive }
  private var seen: Set<ArchiveID> = []
  private var place: Int
  private var index = 0
  /// The first element that no part has.
  private var firstIndex = 0

  init(_ elements: [ArchiveElement], from place: Int) {
    (self.elements, self.place) = (elements, place)
    for (index, element) in elements.enumerated() {
      if let start = element.archiveStart, trailers[start] == nil { trailers[start] = index }
    }
    if elements.isEmpty || trailers.isEmpty { return }
    closed = elements.indices.reversed().filter {
      elements[$0].fileHeader != nil && trailer(ofFileHeader: $0) != nil
    }
  }

  private func trailer(ofFileHeader index: Int) -> Int? {
    trailers[elements[index].offset].flatMap {
      $0 > index && elements[$0].archive == elements[index].archive ? $0 : nil
    }
  }

  /// Goes on by one archive, or passes over an element that begins none.
  ///
  /// - Returns: False at the end.
  mutating func step() -> Bool {
    guard index < elements.count else {
      // The last archive reports what follows it.
      guard let last = parts.indices.last else { return false }
      parts[last].elements = elements[parts[last].elements.startIndex...]
      return false
    }
    if let last = lastIndex() { add(to: last) } else { index += 1 }
    return true
  }

  private mutating func add(to last: Int) {
    let (first, id) = (elements[index], elements[last].archive)
    let isFileHeader = first.fileHeader != nil && first.archive == id
    var start = isFileHeader ? first.offset : place
    if !isFileHeader, let said = elements[last].archiveStart, said > place, said <= first.offset {
      start = said
    }
    parts.append(
      ArchivePart(
        id: id, start: start, place: place, elements: elements[firstIndex...last]))
    seen.insert(id)
    place = elements[last].end
    (index, firstIndex) = (last + 1, last + 1)
  }

  /// The last element of the archive that begins here; nil if none does.
  private mutating func lastIndex() -> Int? {
    let first = elements[index]
    if first.fileHeader != nil, let trailer = trailer(ofFileHeader: index) { return trailer }
    if let trailer = trailers[place], trailer >= index, first.offset > place { return trailer }
    guard !seen.contains(first.archive), isBeginning(first) else { return nil }
    return lastOfOpenArchive()
  }

  /// Whether an archive may begin with it: it is a file header, or there is room for the file
  /// header and frames before it.
  private func isBeginning(_ element: ArchiveElement) -> Bool {
    switch element.kind {
    case .fileHeader: return true
    case .trailer: return false
    case .frame(let header):
      let room = element.offset - place - FileHeaderLayout.size
      return room >= 0 && header.ordinal <= UInt64(room / FrameLayout.size)
    }
  }

  private mutating func lastOfOpenArchive() -> Int {
    while let next = closed.last, next <= index { closed.removeLast() }
    let limit = closed.last ?? elements.count
    var last = index
    for own in indices[elements[index].archive] ?? [] where own > index {
      if own >= limit { break }
      last = own
    }
    return last
  }
}
