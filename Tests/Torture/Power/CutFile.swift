import TestSupport

/// How much of a file a power cut takes, by and large.
enum CutStyle: CaseIterable {
  case nothing, everything, few, half, most

  static func random(_ random: inout SeededGenerator) -> CutStyle {
    allCases.randomElement(using: &random) ?? .half
  }

  /// Whether it takes the next page.
  func takes(_ random: inout SeededGenerator) -> Bool {
    switch self {
    case .nothing: false
    case .everything: true
    case .few: random.oneIn(8)
    case .half: random.oneIn(2)
    case .most: !random.oneIn(8)
    }
  }
}

/// A file whose last changes may be missing, in each page independently.
struct CutFile {
  private let file: RecordedFile
  private let time: Int
  private let floor: Int
  private let style: CutStyle
  private static let pageSize = RecordedFile.pageSize

  init(_ file: RecordedFile, at time: Int, style: CutStyle) {
    (self.file, self.time, self.style) = (file, time, style)
    floor = file.syncs.floor(at: time)
  }

  func bytes(_ random: inout SeededGenerator) -> [UInt8] {
    let size = size(&random)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(size + Self.pageSize)
    for index in 0..<(size + Self.pageSize - 1) / Self.pageSize {
      bytes += index < file.pages.count ? page(index, &random) : Self.zeros
    }
    bytes.removeLast(bytes.count - size)
    return bytes
  }

  private static let zeros = RecordedFile.Page(repeating: 0, count: pageSize)

  private func size(_ random: inout SeededGenerator) -> Int {
    guard let last = file.sizes.last(where: { $0.time <= time })?.value else { return 0 }
    let first = file.sizes.last { $0.time <= floor }?.value ?? 0
    switch random.pick(0, 0, 0, 1, 2, 3) {
    case 0: return last
    case 1: return style == .nothing ? last : first
    case 2: return Image.choose(file.sizes, floor, time, &random) ?? last
    default:
      // The file grows as pages are written.
      guard first < last else { return last }
      return min(last, Int.random(in: first...last, using: &random) & ~511 + 512)
    }
  }

  private func page(_ index: Int, _ random: inout SeededGenerator) -> RecordedFile.Page {
    let versions = file.pages[index]
    let old = versions.last { $0.time <= floor }?.value ?? Self.zeros
    guard let new = versions.last(where: { $0.time <= time })?.value else { return Self.zeros }
    guard style.takes(&random) else {
      return random.oneIn(30) ? torn(old, new, &random) : new
    }
    switch Int.random(in: 0..<10, using: &random) {
    case 0: return torn(old, new, &random)
    case 1, 2:
      let between = versions.filter { $0.time > floor && $0.time <= time }
      return between.randomElement(using: &random)?.value ?? old
    default: return old
    }
  }

  /// A page that is partly new: disks write sectors of 512 bytes whole, but not always pages.
  private func torn(
    _ old: RecordedFile.Page, _ new: RecordedFile.Page, _ random: inout SeededGenerator
  ) -> RecordedFile.Page {
    var page = old
    for start in stride(from: 0, to: Self.pageSize, by: 512) where random.oneIn(2) {
      page.replaceSubrange(start..<start + 512, with: new[start..<start + 512])
    }
    return page
  }
}
