/// Bytes between an archive's elements.
struct ArchiveGap {
  let range: Range<Int>
  /// What stands there, in words, if that is known.
  let content: String?
}
