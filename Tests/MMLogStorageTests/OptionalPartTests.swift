import MMLogFormat
import TestSupport
import Testing

/// What a later writer may add, and a reader passes over: FORMAT.md, 4 and 6.
@Suite struct OptionalPartTests {
  private let log = TestLog()

  /// Records whose contexts have unknown parts. One of them also names its thread, and one has
  /// metadata.
  private func write() {
    let text = { (text: String) in ValueWords.argument(.text(text)) }
    log.write(
      TestRecord(
        ticks: 1, site: log.textSite, flags: .context, words: text("a") + [2 | 5 << 40, 77, 78]))
    log.write(
      TestRecord(
        ticks: 2, site: log.textSite, flags: [.thread, .context],
        words: [1 | 1001 << 32] + text("b") + [0]))
    log.write(
      TestRecord(
        ticks: 3, site: log.textSite, flags: [.context, .metadata],
        words: text("c") + [0, 1 | 1 << 40, 99]))
    log.write("d", ticks: 4)
  }

  private func check(_ source: String) throws {
    log.save()
    let here = readHere([log.folder.path])
    #expect(here.records.map(\.message) == ["a", "b", "c", "d"] && !here.hasTrouble, "\(source)")
    #expect(try readInPython([log.folder.path]).difference(from: here) == nil, "\(source)")
  }

  @Test("what is unknown of a context is passed over")
  func whatIsUnknownOfAContextIsPassedOver() throws {
    write()
    try check("in the ring")
    log.writesRing = false
    log.archive(isPublished: false)
    try check("in rows")
  }

  @Test("what is unknown of a context is columns of its own")
  func whatIsUnknownOfAContextIsColumnsOfItsOwn() throws {
    write()
    log.writesRing = false
    log.archive(isPublished: false, isInColumns: true)
    try check("in columns")
  }

  @Test("a context that is longer than its record is corruption")
  func aContextThatIsLongerThanItsRecordIsCorruption() {
    log.write(
      TestRecord(
        ticks: 1, site: log.textSite, flags: .context,
        words: ValueWords.argument(.text("a")) + [255]))
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
