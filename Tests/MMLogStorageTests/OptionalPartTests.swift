import MMLogFormat
import MMLogStorage
import TestSupport
import Testing

/// What a later writer may add, and a reader passes over: FORMAT.md, 4 and 6.
@Suite struct OptionalPartTests {
  private let log = TestLog()

  /// Records with optional words, of which one names its thread as well and one has metadata.
  private func write() {
    let text = { (text: String) in ValueWords.argument(.text(text)) }
    log.write(
      TestRecord(
        ticks: 1, site: log.textSite, flags: .extensions, words: [2 | 5 << 8, 77, 78] + text("a")))
    log.write(
      TestRecord(
        ticks: 2, site: log.textSite, flags: [.thread, .extensions],
        words: [1 | 1001 << 32, 0] + text("b")))
    log.write(
      TestRecord(
        ticks: 3, site: log.textSite, flags: [.extensions, .metadata],
        words: [1, 99] + text("c") + [0]))
    log.write("d", ticks: 4)
  }

  private func check(_ source: String) throws {
    log.save()
    let here = readHere([log.folder.path])
    #expect(here.records.map(\.message) == ["a", "b", "c", "d"] && !here.hasTrouble, "\(source)")
    #expect(try readInPython([log.folder.path]).difference(from: here) == nil, "\(source)")
  }

  @Test("optional words of records are passed over")
  func optionalWordsOfRecordsArePassedOver() throws {
    write()
    try check("in the ring")
    log.writesRing = false
    log.archive(isPublished: false)
    try check("in rows")
  }

  @Test("optional words of records are columns of their own")
  func optionalWordsOfRecordsAreColumnsOfTheirOwn() throws {
    write()
    log.writesRing = false
    log.archive(isPublished: false, isInColumns: true)
    try check("in columns")
  }

  @Test("more optional words than the record has are corruption")
  func moreOptionalWordsThanTheRecordHasAreCorruption() {
    log.write(
      TestRecord(
        ticks: 1, site: log.textSite, flags: .extensions,
        words: [255] + ValueWords.argument(.text("a"))))
    log.save()
    let read = readHere([log.folder.path])
    #expect(read.records.isEmpty && read.hasTrouble)
  }

  @Test("dictionary entries of unknown kinds are passed over")
  func dictionaryEntriesOfUnknownKindsArePassedOver() throws {
    log.putUnknownEntry()
    write()
    log.putUnknownEntry()
    try check("in the ring")
  }
}
