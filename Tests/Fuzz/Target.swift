import CMMLogWriter
import Glibc
import MMLogAnalysis
import MMLogCrypto
import MMLogFormat
import MMLogReader
import MMLogReport
import MMLogShipping
import MMLogStorage
import MMLogSystem
import TestSupport

/// What is fuzzed, by the name that the command line has for it.
enum Target: String, CaseIterable {
  /// u32 size in rows, u32 count of records, payload in columns.
  case columns
  /// Lines of text, which come back from columns.
  case lines
  /// Dictionary entries; their checksums are fixed.
  case entries
  /// A frame: header, ranges and payload; its checksums are fixed.
  case frame
  /// A ring's header and dictionary, and a segment's header, as they are: what corrects wrong bits
  /// sees them.
  case correction
  /// The bytes of an archive; its checksums are fixed.
  case archive
  /// The bytes of a ring without what is between its file header and its dictionary; its checksums
  /// are fixed.
  case ring
  /// A byte that chooses what puts records out, and the bytes of an archive, whose checksums are
  /// fixed.
  case output
  /// A byte that chooses what is searched for, and the bytes of an archive, whose checksums are
  /// fixed.
  case search
  /// The template of a line, as a person writes it.
  case template
  /// The report of a crash; its checksum is fixed.
  case crash
  /// A request to a running process to set its levels; its checksum is fixed.
  case levels
  /// State slots, as they stand in a ring; their checksums are fixed.
  case state
  /// A condition of `--where`, tried on a record.
  case condition
  /// A format of printf(3), as a log statement of C's has it.
  case format
  /// The debug information of a program: for each section its size in 16 bits, and then its bytes.
  case debug
  /// The header of a request to the receiver of archives, or its file of tokens.
  case request
  /// Two bytes that choose where an upload is cut, and the bytes of an archive, whose checksums are
  /// fixed.
  case upload
  /// A key slot, a sealed value, or a line of text: an identity, a recipient, or a noted head.
  case keys
  /// The text of a consumer's state.
  case consumer
  /// Four bytes that choose how a secret is encoded and where it is cut, what stands before it, a
  /// zero, and what stands behind it in an HTTP exchange.
  case http

  /// libFuzzer's callback has no parameter for it. It is set before fuzzing begins, and there is
  /// one thread.
  nonisolated(unsafe) static var chosen = Target.columns

  func read(_ bytes: UnsafeRawBufferPointer) {
    switch self {
    case .columns: readColumns(bytes)
    case .lines: writeLines(bytes)
    case .entries: readEntries(ChecksumFix.entries(Array(bytes), seed: 0))
    case .frame: readFrame(Array(bytes))
    case .correction: correct(Array(bytes))
    case .archive: readFile(ChecksumFix.archive(Array(bytes)))
    case .ring: readRing(ChecksumFix.ring(Ring.expanded(bytes)))
    case .output: putOut(bytes.first ?? 0, ChecksumFix.archive(Array(bytes.dropFirst())))
    case .search: find(bytes.first ?? 0, ChecksumFix.archive(Array(bytes.dropFirst())))
    case .template: _ = try? TextTemplate(String(decoding: bytes, as: UTF8.self))
    case .crash: reportCrash(Array(bytes))
    case .levels: readLevels(Array(bytes))
    case .state: readState(ChecksumFix.stateSlots(Array(bytes)))
    case .condition: tryCondition(bytes)
    case .format: takeApart(bytes)
    case .debug: findStatements(bytes)
    case .request: readRequest(bytes)
    case .keys: readKeys(Array(bytes))
    case .http: logExchange(bytes)
    case .consumer: readConsumer(String(decoding: bytes, as: UTF8.self))
    case .upload:
      let cut = bytes.count < 2 ? 0 : Int(bytes.load(0, as: UInt16.self))
      receive(cut, ChecksumFix.archive(Array(bytes.dropFirst(2))))
    }
  }
}

/// Larger rows take the same paths through the code, and more time.
private let largestRows = 8 << 20

private func readColumns(_ bytes: UnsafeRawBufferPointer) {
  guard bytes.count >= 8, let decompressor = Decompressor() else { return }
  let (size, count) = (Int(bytes.load(0, as: UInt32.self)), Int(bytes.load(4, as: UInt32.self)))
  let payload = bytes.slice(8, bytes.count - 8)
  guard size <= largestRows,
    let rows = try? ColumnDecoder.rows(
      payload, size: size, count: count, decompressor,
      ifWanted: { text, _ in
        if case .withoutNumbers(_, let numbers) = text {
          _ = numbers.mayShow(Array("abcdef".utf8))
        }
        return true
      })
  else { return }
  precondition(rows.count == size, "rows of another size")
  encodeAgain(rows, decompressor)
}

/// Checks that a state that was read comes back from its text.
private func readConsumer(_ text: String) {
  guard let state = ConsumerState(text) else { return }
  precondition(ConsumerState(state.text) == state, "a state is not what its text says")
}

/// In the order in which a seed has them.
enum DebugSection: String, CaseIterable {
  case info, abbrev, line, lineStrings = "line_str", strings = "str", offsets = "str_offsets"
}

private func findStatements(_ bytes: UnsafeRawBufferPointer) {
  var rest = Array(bytes)[...]
  var sections: [String: [UInt8]] = [:]
  for section in DebugSection.allCases {
    guard rest.count >= 2 else { break }
    let size = Int(rest.removeFirst()) << 8 | Int(rest.removeFirst())
    sections[section.rawValue] = Array(rest.prefix(size))
    rest = rest.dropFirst(size)
  }
  var information = DebugInformation(sections)
  _ = try? information.place(line: 7) { $0.hasSuffix("swift") }
}

/// Checks that records that were read come back from an encoder, too.
private func encodeAgain(_ rows: [UInt8], _ decompressor: Decompressor) {
  rows.withUnsafeBytes { bytes in
    guard var reader = try? RowReader(bytes) else { return }
    var builder = RowBuilder()
    while let row = try? reader.next() {
      let thread = ThreadIdentity(ordinal: row.threadOrdinalOfRow, id: 0, name: "")
      builder.add(row, thread: thread, ticks: row.ticks)
    }
    encode(builder, CallSiteFields(), decompressor)
  }
}

private func encode(
  _ builder: borrowing RowBuilder, _ callSites: CallSiteFields, _ decompressor: Decompressor
) {
  let payload = ColumnEncoder().encode(builder, callSites, nil)
  let again = payload.withUnsafeBytes {
    try? ColumnDecoder.rows(
      $0, size: builder.size, count: Int(builder.summary.count), decompressor,
      ifWanted: { _, _ in true })
  }
  precondition(again == builder.payload(), "another payload")
}

private func writeLines(_ bytes: UnsafeRawBufferPointer) {
  guard let decompressor = Decompressor() else { return }
  let site = CallSite(
    file: "f", function: "g", line: 1, column: 1, parts: [.argument(type: .bytes)])
  var callSites = CallSiteFields()
  DictionaryEntry.callSite(id: 1, site).encoded(seed: 0).withUnsafeBytes {
    callSites.add(entriesIn: $0, seed: 0)
  }
  let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
  let records = lines.enumerated().flatMap { index, line in
    TestRecord(
      ticks: UInt64(index), site: 1, words: ValueWords.argument(.bytes(Array(line)))
    ).encoded(seed: 0)
  }
  let memory = AlignedBytes(words: records)
  withExtendedLifetime(memory) {
    var builder = RowBuilder()
    var scanner = RecordScanner(memory.bytes, from: 0, seed: 0, zeros: .end)
    while case .record(let view, _) = scanner.next() {
      builder.add(view, thread: ThreadIdentity(ordinal: 1, id: 1, name: ""), ticks: view.ticks)
    }
    encode(builder, callSites, decompressor)
  }
}

private func readEntries(_ bytes: [UInt8]) {
  bytes.withUnsafeBytes {
    var scanner = EntryScanner($0, seed: 0)
    while scanner.next() != nil {}
    var sites = CallSiteFields()
    sites.add(entriesIn: $0, seed: 0)
  }
}

private let ringCipher = (try? SecretKey(32) { _ in }).map {
  RingCipher(SlottedKey($0, slot: []))
}

/// Decodes a frame as an archive's reader does.
private func readFrame(_ frame: [UInt8]) {
  let archive = [UInt8](repeating: 0, count: FileHeaderLayout.size) + frame
  ChecksumFix.archive(archive)[FileHeaderLayout.size...].withUnsafeBytes { bytes in
    guard let size = FrameHeader.size(bytes), size <= bytes.count,
      let header = FrameHeader(bytes.slice(0, size)), header.frameSize <= bytes.count,
      header.rawSize <= largestRows, let decompressor = try? Decompressor.make(for: header.codec)
    else { return }
    var again: [UInt8] = []
    header.encode(into: &again)
    precondition(header.type == .other || again.count == size, "a header of another size")
    let payload = bytes.slice(header.headerSize, header.payloadSize)
    let rows: [UInt8]? =
      switch header.codec {
      case .rows: Array(payload)
      case .zlibRows: try? decompressor.decompress(payload, size: header.rawSize)
      case .sealedRows:
        // Under any key, the rows may have anything.
        ringCipher.flatMap { try? SealedRows.decrypt(payload, size: header.rawSize, with: $0) }
      case .columns, .zstdColumns:
        try? ColumnDecoder.rows(
          payload, size: header.rawSize, count: Int(header.summary.count), decompressor,
          ifWanted: { _, _ in true })
      }
    rows?.withUnsafeBytes {
      _ = (LossLedger($0), SessionEnd($0))
      guard var reader = try? RowReader($0) else { return }
      while (try? reader.next()) != nil {}
    }
  }
}

/// Checks that what is corrected is right, and is not corrected again.
private func correct(_ bytes: [UInt8]) {
  var bytes = bytes
  bytes.withUnsafeMutableBytes { bytes in
    if bytes.count >= FileHeaderLayout.size, bytes.correctFileHeader() {
      precondition(!bytes.correctFileHeader(), "a file header was corrected twice")
    }
    if bytes.count > SegmentLayout.size, bytes.correctSegmentHeader() {
      precondition(!bytes.correctSegmentHeader(), "a segment's header was corrected twice")
    }
    for entry in bytes.correctEntries(seed: 0) {
      var scanner = EntryScanner(UnsafeRawBufferPointer(rebasing: bytes[entry]), seed: 0)
      // An entry of an unknown kind is passed over, and is no corruption.
      precondition(
        scanner.next() != nil || scanner.corruption.allSatisfy { $0 == 0..<entry.count },
        "a corrected entry is none")
    }
  }
}

/// Checks that a request that is read is written as it was. Reads the bytes as a list of rules,
/// too, as the environment has it.
private func readLevels(_ bytes: [UInt8]) {
  _ = LevelRule.list(String(decoding: bytes, as: UTF8.self))
  var slot = [UInt8](repeating: 0, count: ControlLayout.levelSlotSize)
  slot.withUnsafeMutableBytes { slot in
    slot.copyBytes(from: bytes.prefix(slot.count))
    slot.store(levelRequestChecksum(UnsafeRawBufferPointer(slot)), ControlLayout.requestChecksum)
  }
  guard let request = slot.withUnsafeBytes({ LevelRequest($0) }) else { return }
  let again = request.encoded.flatMap { bytes in bytes.withUnsafeBytes { LevelRequest($0) } }
  // Text that is not UTF-8 may become longer, and then has no room.
  precondition(again == nil || again == request, "another request")
}

/// Checks that the state that is read goes into a dictionary's entry, and comes back from it.
private func readState(_ bytes: [UInt8]) {
  let state = bytes.withUnsafeBytes { StateSlots($0) }
  precondition(state.values.count + state.corruption.count <= bytes.count / 64, "too many")
  let entry = DictionaryEntry.lastState(state.fields)
  entry.encoded(seed: 0).withUnsafeBytes { bytes in
    var scanner = EntryScanner(bytes, seed: 0)
    guard case .lastState(let fields)? = scanner.next()?.entry else {
      preconditionFailure("the entry cannot be read")
    }
    precondition(fields == state.fields, "another state")
    precondition(fields.pairs.count == state.values.count, "another number of slots")
  }
}

/// Reads a crash report. Shorter inputs end in zeros.
private func reportCrash(_ bytes: [UInt8]) {
  let report = CrashReport.bytes { $0.copyBytes(from: bytes.prefix(CrashLayout.size)) }
  guard let crash = report.withUnsafeBytes({ CrashReport($0) }) else { return }
  // What stands beside the state is not part of the report.
  let content = CrashLayout.checksum...
  precondition(crash.encoded[content] == report[content], "a report that is not what was read")
  precondition(crash.details.count <= 140 && !crash.summary.isEmpty, "too many lines")
}

/// Reads a condition, and tries it on records.
private func tryCondition(_ bytes: UnsafeRawBufferPointer) {
  // With repetitions and back references, the C library's regular expressions may take any time and
  // memory.
  let repetitions = bytes.count { "*+?".utf8.contains($0) }
  guard bytes.count < 256, repetitions < 9, !bytes.contains(UInt8(ascii: "{")),
    !bytes.contains(0x5C)
  else { return }
  guard let condition = try? FieldCondition(String(decoding: bytes, as: UTF8.self)) else { return }
  var filter = LogReader.Filter()
  filter.conditions = [condition]
  for _ in LogReader(fewRecords, filter: filter) {}
}

/// Checks that the recorded parts are all of the format, and that readers know each.
private func takeApart(_ bytes: UnsafeRawBufferPointer) {
  let text = bytes.prefix { $0 != 0 } + [0]
  text.withUnsafeBytes { text in
    guard let start = text.baseAddress?.assumingMemoryBound(to: CChar.self) else { return }
    var plan = [mmlog_planned](repeating: 0, count: Int(MMLOG_PLANNED))
    var parts: UInt32 = 0
    let count = mmlog_plan(start, &plan, &parts)
    guard count >= 0 else { return }
    var (next, directive, found, arguments) = (start as UnsafePointer, mmlog_directive(), 0, 0)
    while mmlog_next_directive(&next, &directive) {
      found += 1
      if directive.kind == MMLOG_LITERAL { continue }
      arguments += 1
      precondition(ValueType(rawValue: directive.type) != nil, "an argument of no type")
    }
    precondition(next == start + text.count - 1, "not the whole format")
    precondition(found == parts && arguments == count, "another number of parts or arguments")
  }
}

let identity = try? Identity(
  "AGE-SECRET-KEY-1W4DAPJLRPPW3CCZ7LJJN3ZAQP03ADMURL2X8WX0YF0PLGFUYMYFS36UJTP")

/// The identities that open what is encrypted in the seeds: single values, and rings and archives
/// under `Tests/Golden/sealed`.
private let identities = {
  let golden = (try? LogIdentities(files: ["Tests/Golden/sealed/identity"]))?.all ?? []
  return LogIdentities(golden + [identity].compactMap(\.self))
}()

/// Checks that what is read is written as it was.
private func readKeys(_ bytes: [UInt8]) {
  if let identity {
    // A single value, which begins with the size of its slot.
    if let slots = identities.slots {
      _ = bytes.withUnsafeBytes { SealedValue.open($0, with: slots) }
    }
    if let key = try? KeySlot.decrypt(bytes, with: [identity]),
      let slot = try? KeySlot.encrypt(key, for: [identity.recipient])
    {
      let again = try? KeySlot.decrypt(slot, with: [identity])
      precondition(again?.withBytes(Array.init) == key.withBytes(Array.init), "another key")
    }
  }
  let text = String(decoding: bytes, as: UTF8.self)
  _ = try? Identity.all(in: text)
  if let recipient = try? Recipient(text) {
    precondition("\(recipient)" == text.lowercased(), "another recipient")
  }
  if let head = ArchiveHead(text) { precondition(ArchiveHead("\(head)") == head, "another head") }
}

/// Opened once, since they are the same for every input. Only one thread uses them.
nonisolated(unsafe) private let fewRecords = {
  let log = SmallLogs.values()
  log.writesRing = false
  return LogFiles(log.save().map(LogReader.Input.path))
}()

/// The file that is written anew for each input.
private let file = {
  var path = Array("/dev/shm/mmlog-fuzz.XXXXXX".utf8CString)
  let descriptor = mkstemp(&path)
  guard descriptor >= 0 else { fatalError("mkstemp: errno \(errno)") }
  unlink(path)
  return descriptor
}()

private func files(of bytes: [UInt8]) -> LogFiles {
  guard ftruncate(file, 0) == 0, pwrite(file, bytes, bytes.count, 0) == bytes.count else {
    fatalError("writing the input: errno \(errno)")
  }
  return LogFiles([.path("/proc/self/fd/\(file)")], identities: identities)
}

/// Reads a file, and checks it.
private func readFile(_ bytes: [UInt8]) {
  let files = files(of: bytes)
  for _ in LogReader(files) {}
  _ = files.verify()
}

/// Reads a ring, and what `mmlogctl status` shows of it, whatever its control page says.
private func readRing(_ bytes: [UInt8]) {
  readFile(bytes)
  guard let status = try? RingStatus(File.openFollowingLinks("/proc/self/fd/\(file)")) else {
    return
  }
  _ = (status.writers, status.waiting, status.silence)
  guard let control = status.control else { return }
  _ = (control.labels(status.image.dictionary), control.overrides, control.lastPass)
}

/// Puts records out in one of the possible ways: all ways for each input would take many times as
/// long.
private func putOut(_ choice: UInt8, _ bytes: [UInt8]) {
  let files = files(of: bytes)
  let way = Int(choice) % (formatters.count + 3)
  switch way - formatters.count {
  case 0: _ = (files.overview(), files.lastRecords(3).next())
  case 1: addUp(files)
  case 2: makeReport(of: files)
  default: format(files, way)
  }
}

private func addUp(_ files: LogFiles) {
  var statistics = LogStatistics()
  var lines = TextBuffer()
  for item in LogReader(files) { statistics.add(item) }
  statistics.appendText(to: &lines)
  var tops = [LogTop(by: .template, of: .field("n")), LogTop(by: .span, of: .duration)]
  var spans = LogSpans()
  for item in LogReader(files) {
    for index in tops.indices { tops[index].add(item) }
    spans.add(item)
  }
  for top in tops { top.appendText(rows: 9, to: &lines) }
  var style = LogSpans.Style()
  style.isTree = true
  spans.appendText(style, zone: .utc, to: &lines)
  spans.appendJSON(style, zone: .utc, to: &lines)
}

private func makeReport(of files: LogFiles) {
  var report = LogReport()
  var lines = TextBuffer()
  for item in LogReader(files) { report.add(item) }
  report.append(made: 0, to: &lines)
}

private func format(_ files: LogFiles, _ way: Int) {
  var lines = TextBuffer()
  for record in records(LogReader(files)) {
    lines.removeAll()
    formatters[way].append(record, to: &lines)
  }
}

/// Only one thread uses them.
nonisolated(unsafe) private var formatters: [any LogFormatter] = {
  let formatters: [any LogFormatter] = [
    TextFormatter(colors: true), JSONFormatter(), LogfmtFormatter(), TableFormatter(.csv),
    TableFormatter(.tsv), OTLPFormatter(), ChromeFormatter(), MessageFormatter(isEscaping: true),
    TerminalFormatter(colors: true, columns: 50, highlighting: [TextPattern(literal: "a")]),
    FieldsFormatter(["time", "level", "message", "user", "line"], .json),
    FieldsFormatter(["time", "level", "message", "user", "line"], .csv, isFormulaSafe: true),
  ]
  let template = try? TextTemplate("{time} {message:20} {fields} {fields.n}")
  return formatters + (template.map { [TemplateFormatter($0)] } ?? [])
}()

/// Checks that a filtered read finds the same records as inspecting every record. Compares session
/// by session: times of a session may go back, and what is passed over does not show its times.
private func find(_ choice: UInt8, _ bytes: [UInt8]) {
  let filter = filters[Int(choice) % filters.count]
  let files = files(of: bytes)
  let found = bySession(records(LogReader(files, filter: filter)))
  let all = bySession(records(LogReader(files)).filter { filter.matchesContent(of: $0) })
  precondition(found == all, "\(found), not \(all)")
}

private func bySession(_ records: some Sequence<LogReader.Record>) -> [SessionID: [String]] {
  records.reduce(into: [:]) { $0[$1.session.id, default: []].append("\($1.ticks) \($1.message)") }
}

private func records(_ reader: LogReader) -> some Sequence<LogReader.Record> {
  reader.lazy.compactMap { if case .record(let record) = $0 { record } else { nil } }
}

/// Filters by contents only. Other filters ask frames' headers first, which may say anything.
private let filters: [LogReader.Filter] = {
  var filters = ["a", "b", "n 100", "42", "deadbeef"].map { text in
    filter { $0.text = [TextPattern(literal: text)] }
  }
  for pattern in ["n [0-9]00$", "^a", "x y|LONG", "request.path=/"] {
    filters.append(filter { $0.text = [try TextPattern(pattern, ignoresCase: true)] })
  }
  for condition in [
    "user == -42", "b >= 42 || c == nil", "d ~ 'x'", "@message == 'a 1'", "@duration > 1us",
    "@span_name ~ 'a'",
    "@time < 1h && @process in (42, orders) && @session != 01",
  ] {
    filters.append(filter { $0.conditions = [try FieldCondition(condition)] })
  }
  for index in filters.indices {
    filters.append(filters[index])
    filters[filters.count - 1].isTextInverted = true
  }
  return filters
}()

private func filter(_ change: (inout LogReader.Filter) throws -> Void) -> LogReader.Filter {
  var filter = LogReader.Filter()
  do { try change(&filter) } catch { fatalError("\(error)") }
  return filter
}
