import Glibc
import MMLogFormat
import MMLogReceiving
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

/// Archives that arrive whole, in parts, corrupted, twice, or not at all.
@Suite struct UploadTests {
  private let archive = TestLog.sealed()
  private let name = TestLog.sealedName()

  private func refusal(
    _ comment: @autoclosure () -> String = "", _ body: () throws -> Receipt
  ) -> Refusal? {
    do {
      let receipt = try body()
      Issue.record("\(comment()): not refused, but \(receipt.outcome)")
      return nil
    } catch {
      return error as? Refusal
    }
  }

  @Test("an archive is stored by service and host under its own name, whatever it was called")
  func stored() throws {
    let sending = try Sending()
    let receipt = try sending.send(archive[...], as: "whatever/../../it is")
    #expect(receipt.outcome == .stored && receipt.path == "orders/tokyo/\(name)")
    #expect(receipt.size == archive.count && receipt.recordCount == 80)
    #expect(receipt.checksum == archive.withUnsafeBytes { crc32c($0) })
    #expect(sending.files == ["orders/tokyo/\(name)"])
    #expect(try sending.folder.bytes("received/orders/tokyo/\(name)") == archive)
    let status = try File.status(ofPath: sending.folder("received/orders/tokyo/\(name)"))
    #expect(status.permissions & 0o027 == 0)
  }

  #if DEBUG
    @Test("while what is stored is counted, which may take long, nobody else waits")
    func counting() throws {
      let sending = try Sending { $0.total = 1 << 30 }
      let (gate, folder) = (ForkSafeMutex(), sending.folder("received/orders"))
      try Directory.create(folder)
      gate.lock()
      ForcedFault.block(.openat, on: gate, under: folder)
      let archive = archive
      let thread = try Thread(name: "sender") { _ = try? sending.send(archive[...], as: "one") }
      while !ForcedFault.struckPaths.contains(where: { $0.hasPrefix(folder) }) { sched_yield() }
      try sending.archives.removeExpired()
      ForcedFault.clear(under: folder)
      gate.unlock()
      thread.join()
      #expect(sending.files == ["orders/tokyo/\(name)"])
    }

    @Test("of a frame that comes in many pieces, the header is read once")
    func pieces() throws {
      let sending = try Sending()
      let path = sending.folder("received")
      // This fault never comes: it only counts the calls.
      ForcedFault.force(.pread, errno: EIO, onCall: .max, under: path)
      defer { ForcedFault.clear(under: path) }
      try sending.sendBeginning(of: archive, count: archive.count - 1, as: name, piece: 1)
      let count = ForcedFault.passed(.pread, under: path)
      let files = try ArchiveFile.all(in: File.open(sending.folder.put("archive", archive), .read))
      // At most two reads for each byte of a header, and none for the bytes of a payload.
      let most = files.flatMap(\.frames).reduce(1000) { $0 + 2 * $1.header.headerSize + 20 }
      #expect((1...most).contains(count), "\(archive.count) bytes")
    }

    @Test("what is there of an upload is checked when it goes on, before the rest comes")
    func resumedCheck() throws {
      let sending = try Sending()
      let (path, start) = (sending.folder("received"), archive.count - 10)
      try sending.sendBeginning(of: archive, count: start, as: name)
      let fields = ["content-range": "bytes \(start)-\(archive.count - 1)/\(archive.count)"]
      let request = try ReceiverRequest(method: "PUT", path: "/archives/\(name)") { fields[$0] }
      guard
        case .upload(let upload) = try sending.archives.begin(request, of: name, client: "anyone")
      else { throw Failure("nothing goes on") }
      // It counts, and never comes.
      ForcedFault.force(.pread, errno: EIO, onCall: .max, under: path)
      archive[start..<start + 1].withUnsafeBytes { _ = upload.append($0) }
      let count = ForcedFault.passed(.pread, under: path)
      ForcedFault.clear(under: path)
      #expect((1...3).contains(count))
      archive[(start + 1)...].withUnsafeBytes { _ = upload.append($0) }
      #expect(try upload.finish().outcome == .stored)
    }

    @Test("an archive that comes in many parts is read as often as one that comes whole")
    func manyParts() throws {
      let archive = TestLog.sealed(frames: 40)
      func reads(_ send: (Sending) throws -> Receipt.Outcome) throws -> Int {
        let sending = try Sending()
        let path = sending.folder("received")
        // This fault never comes: it only counts the calls.
        ForcedFault.force(.pread, errno: EIO, onCall: .max, under: path)
        defer { ForcedFault.clear(under: path) }
        #expect(try send(sending) == .stored)
        return ForcedFault.passed(.pread, under: path)
      }
      let size = archive.count
      let whole = try reads { try $0.send(archive[...], as: name, piece: size).outcome }
      let count = 100
      let inParts = try reads { sending in
        var outcome = Receipt.Outcome.incomplete
        for part in 0..<count {
          let range = part * size / count..<(part + 1) * size / count
          outcome = try sending.send(
            archive[range], as: name,
            ["content-range": "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"]
          ).outcome
        }
        return outcome
      }
      // Each part asks once more for the beginning of a frame that has not come whole.
      #expect(inParts <= whole + 4 * count, "\(whole) and \(inParts)")
    }

    @Test("a check ends when it has found as much corruption as an answer names")
    func muchCorruption() throws {
      let log = TestLog(session: 1)
      log.write("record", ticks: 1)
      log.archive()
      for ticks in 2..<402 as Range<UInt64> {
        var summary = RecordSummary()
        summary.add(ticks: ticks, level: .info)
        log.addFrame(.records, [UInt8](repeating: 0, count: 4096), summary)
      }
      log.close()
      let archive = log.archives[0]
      let sending = try Sending()
      let request = try ReceiverRequest(method: "PUT", path: "/archives/\(name)") {
        $0 == "content-length" ? "\(archive.count)" : nil
      }
      guard
        case .upload(let upload) = try sending.archives.begin(request, of: name, client: "anyone")
      else { throw Failure("nothing begins") }
      archive.withUnsafeBytes { _ = upload.append($0) }
      let path = sending.folder("received")
      // It counts, and never comes.
      ForcedFault.force(.pread, errno: EIO, onCall: .max, under: path)
      defer { ForcedFault.clear(under: path) }
      #expect(refusal { try upload.finish() }?.corruption.count == 100)
      // Each frame is read by itself.
      let count = ForcedFault.passed(.pread, under: path)
      #expect((101...200).contains(count), "\(count)")
    }
  #endif

  @Test("the same archive again changes nothing")
  func again() throws {
    let sending = try Sending()
    try sending.send(archive[...], as: name)
    let path = sending.folder("received/orders/tokyo/\(name)")
    let before = try File.status(ofPath: path)
    let checksum = archive.withUnsafeBytes { crc32c($0) }
    let digest = ["repr-digest": ArchiveChecksum.digest(checksum)]
    let onlyNew = digest.merging(["if-none-match": "*"]) { $1 }
    for fields in [[:], digest, onlyNew] {
      for name in [name, "another name"] {
        #expect(try sending.send(archive[...], as: name, fields).outcome == .unchanged)
      }
    }
    #expect(try File.status(ofPath: path) == before)
    #expect(sending.files == ["orders/tokyo/\(name)"])
    #expect(
      try sending.archives.holding(of: "x/\(name)", client: "another")
        == .stored("orders/tokyo/\(name)", archive.count))
  }

  @Test("another archive of the same session and number is refused, and the first one stays")
  func another() throws {
    let sending = try Sending()
    try sending.send(archive[...], as: name)
    let other = TestLog.sealed(frames: 3)
    #expect(refusal { try sending.send(other[...], as: name) }?.status == .conflict)
    #expect(refusal { try sending.send(other[...], as: "other") }?.status == .conflict)
    let onlyNew = ["if-none-match": "*"]
    #expect(
      refusal { try sending.send(other[...], as: name, onlyNew) }?.status == .preconditionFailed)
    // This archive has the same size, and the request has no checksum. So the receiver has to
    // compare bytes.
    var same = archive
    same[300] ^= 1
    same = ChecksumFix.archive(same)
    #expect(refusal { try sending.send(same[...], as: name, onlyNew) }?.status == .conflict)
    #expect(sending.files == ["orders/tokyo/\(name)"])
    #expect(try sending.folder.bytes("received/orders/tokyo/\(name)") == archive)
  }

  @Test("a file that another session went on with takes its beginning's place")
  func extended() throws {
    let sending = try Sending()
    let longer = archive + TestLog.sealed(session: 2)
    try sending.send(archive[...], as: name)
    let folder = sending.folder("received/orders/tokyo")
    let catalog = Catalog(of: folder, store: nil)
    let stored = try #require(try catalog.scan().first)
    try catalog.change(stored.fileName) { $0.pinned = "incident" }
    try catalog.markUploaded(stored, receipt: "of the beginning")
    #expect(try sending.send(longer[...], as: name).outcome == .extended)
    let state = try #require(try Catalog(of: folder, store: nil).scan().first).state
    #expect(state.pinned == "incident" && !state.isUploaded)
    #expect(try sending.folder.bytes("received/orders/tokyo/\(name)") == longer)
    #expect(try sending.send(archive[...], as: name).outcome == .unchanged)
    #expect(try sending.folder.bytes("received/orders/tokyo/\(name)") == longer)
    #expect(sending.files.filter { $0.hasSuffix(".mmlog") } == ["orders/tokyo/\(name)"])
  }

  @Test("an upload that was cut anywhere goes on there")
  func resumed() throws {
    let sending = try Sending()
    let places = archivePlaces(in: archive)
    let cuts = Set(places.flatMap { [$0 - 9, $0 - 1, $0, $0 + 1, $0 + 8, $0 + 100] })
    for cut in cuts.sorted() where (0..<archive.count).contains(cut) {
      try sending.sendBeginning(of: archive, count: cut, as: "x")
      let expected: ReceivedArchives.Holding = cut == 0 ? .nothing : .unfinished(cut)
      #expect(try sending.archives.holding(of: "x", client: "anyone") == expected, "\(cut)")
      #expect(try sending.archives.holding(of: "x", client: "another") == .nothing)
      let receipt = try sending.sendRest(of: archive, from: cut, as: "x")
      #expect(receipt.outcome == .stored, "\(cut)")
      let stored = sending.folder("received/\(receipt.path)")
      #expect(try Folder.read(stored) == archive, "\(cut)")
      #expect(sending.files == ["orders/tokyo/\(name)"], "\(cut)")
      Folder.remove(stored)
    }
  }

  @Test("a refused request leaves what is there of an upload")
  func partStays() throws {
    let sending = try Sending { $0.client = archive.count + 900 }
    let (size, garbage) = (archive.count, [UInt8](repeating: 65, count: 999))
    let large = TestLog.sealed(session: 7, frames: 9)
    #expect(large.count > size)
    try sending.sendBeginning(of: archive, count: 900, as: "x")
    let refused: [(Refusal.Status, () throws -> Receipt)] = [
      (.unprocessableContent, { try sending.send(garbage[...], as: "x") }),
      (.insufficientStorage, { try sending.send(large[...], as: "x") }),
      (
        .badRequest,
        { [archive] in
          try sending.send(
            archive[900...], as: "x", ["content-range": "bytes 900-999/\(size)"])
        }
      ),
    ]
    for (status, send) in refused {
      #expect(refusal { try send() }?.status == status)
      #expect(try sending.archives.holding(of: "x", client: "anyone") == .unfinished(900))
      #expect(sending.files.count == 1)
    }
    // If clients disconnect, the longer unfinished upload stays.
    try sending.sendBeginning(of: archive, count: 100, as: "x")
    #expect(try sending.archives.holding(of: "x", client: "anyone") == .unfinished(900))
    try sending.sendBeginning(of: archive, count: 1000, as: "x")
    #expect(try sending.archives.holding(of: "x", client: "anyone") == .unfinished(1000))
    #expect(try sending.sendRest(of: archive, from: 1000, as: "x").outcome == .stored)
    #expect(try sending.folder.bytes("received/orders/tokyo/\(name)") == archive)
    #expect(sending.files == ["orders/tokyo/\(name)"])
  }

  @Test("an upload may come in parts, may repeat bytes, and leaves out none")
  func parts() throws {
    let sending = try Sending()
    let size = archive.count
    let part = { (range: Range<Int>) in
      try sending.send(
        archive[range], as: "x",
        ["content-range": "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"])
    }
    #expect(try part(0..<700).outcome == .incomplete)
    #expect(try part(600..<900).size == 900)
    let hole = refusal { try part(901..<1000) }
    #expect(hole?.status == .conflict && hole?.offset == 900)
    #expect(try part(900..<size).outcome == .stored)
    #expect(sending.files == ["orders/tokyo/\(name)"])
  }

  /// Opens a directory that was open before. A child that another test starts may keep its lock for
  /// a moment.
  private func opened(_ path: String, _ limits: ReceiverLimits) throws -> ReceivedArchives {
    var archives: ReceivedArchives?
    _ = eventually {
      archives = try? ReceivedArchives(at: path, limits)
      return archives != nil
    }
    return try archives ?? ReceivedArchives(at: path, limits)
  }

  @Test("what another process left goes on, and is removed when it is too old")
  func leftOver() throws {
    let folder = TemporaryDirectory()
    var limits = ReceiverLimits()
    limits.freeSpace = .bytes(0)
    let path = folder("received")
    let uploads = "\(path)/\(ReceivedArchives.uploadsFolder)"
    let request = try ReceiverRequest(method: "PUT", path: "/archives/x") {
      $0 == "content-length" ? "\(archive.count)" : nil
    }
    do {
      let archives = try ReceivedArchives(at: path, limits)
      #expect(throws: LogError.self) { _ = try ReceivedArchives(at: path, ReceiverLimits()) }
      guard case .upload(let upload) = try archives.begin(request, of: "x", client: "c") else {
        throw Failure("nothing begins")
      }
      archive[..<1000].withUnsafeBytes { _ = upload.append($0) }
      // The upload is not ended, as if the process had been killed.
    }
    do {
      let archives = try opened(path, limits)
      #expect(try archives.holding(of: "x", client: "c") == .unfinished(1000))
      guard case .upload(let upload) = try archives.begin(request, of: "x", client: "c") else {
        throw Failure("nothing begins")
      }
      archive[..<500].withUnsafeBytes { _ = upload.append($0) }
      #expect(try Folder.names(uploads).count == 2)
    }
    do {
      let archives = try opened(path, limits)
      #expect(try archives.holding(of: "x", client: "c") == .unfinished(1000))
      #expect(try Folder.names(uploads).count == 1)
    }
    limits.unfinishedAge = .zero
    do {
      let archives = try opened(path, limits)
      #expect(try archives.holding(of: "x", client: "c") == .nothing)
    }
    #expect(try Folder.names(uploads) == [])
  }

  // MARK: - Corruption

  /// A change to an archive, with its name, and the reason that the refusal has to give.
  private struct Damage: CustomStringConvertible {
    let description: String
    let bytes: [UInt8]
    let reason: String
    let offset: Int?

    init(_ description: String, _ bytes: [UInt8], _ reason: String, at offset: Int? = nil) {
      (self.description, self.bytes, self.reason, self.offset) = (
        description, bytes, reason, offset
      )
    }
  }

  /// The archive with some bits of one byte changed. Two wrong bits are not corrected.
  private func changed(_ offset: Int, bits: UInt8 = 5) -> [UInt8] {
    var bytes = archive
    bytes[offset] ^= bits
    return bytes
  }

  /// Bytes that were changed on a disk or on the way.
  private var changedBytes: [Damage] {
    let places = archivePlaces(in: archive)
    let (frame, next, trailer) = (places[3], places[4], places[places.count - 2])
    return [
      Damage("file header", changed(100), "file header", at: 0),
      Damage("one bit of it", changed(300, bits: 1), "one bit is wrong", at: 0),
      Damage("frame's marker", changed(frame), "neither a frame", at: frame),
      Damage("frame's header", changed(frame + 50), "wrong checksum", at: frame),
      Damage("frame's size", changed(frame + 12), "wrong size", at: frame),
      Damage("payload", changed(next - 12), "payload has a wrong checksum", at: frame),
      Damage("trailer", changed(trailer + 20), "neither a frame", at: trailer),
    ]
  }

  /// Bytes that are missing, or that should not be there.
  private var movedBytes: [Damage] {
    let places = archivePlaces(in: archive)
    let (frame, next, last) = (places[3], places[4], places[5])
    let trailer = places[places.count - 2]
    let (old, new) = (Array(archive[frame..<next]), Array(archive[next..<last]))
    let (start, end) = (Array(archive[..<frame]), Array(archive[last...]))
    let zeros = [UInt8](repeating: 0, count: 64)
    let another = Array(TestLog.sealed(session: 9)[frame..<next])
    return [
      Damage("nothing", [], "the end", at: 0),
      Damage("text", [UInt8](repeating: 65, count: 999), "not an mmlog"),
      Damage("a ring", TestLog().ring, "not an mmlog"),
      Damage("no trailer", Array(archive[..<trailer]), "not sealed", at: trailer),
      Damage("cut", Array(archive[..<(next - 8)]), "not whole", at: frame),
      Damage("zeros behind it", archive + zeros, "not whole", at: archive.count),
      Damage("zeros between", start + old + zeros + new + end, "neither a frame", at: next),
      Damage("another order", start + new + old + end, "stands behind"),
      Damage("a frame twice", start + old + old + new + end, "is there already"),
      Damage("a frame less", start + new + end, "is missing"),
      Damage("another's frame", start + another + new + end, "another archive", at: frame),
      Damage("the archive twice", archive + archive, "is there already", at: archive.count),
    ]
  }

  /// Bytes that have correct checksums, but contradict each other.
  private var contradictions: [Damage] {
    let places = archivePlaces(in: archive)
    let (frame, trailer) = (places[4], places[places.count - 2])
    func fixed(_ offset: Int, _ bits: UInt8) -> [UInt8] {
      ChecksumFix.archive(changed(offset, bits: bits))
    }
    return [
      Damage("version", fixed(8, 8), "newer", at: 0),
      Damage(
        "a frame's count", fixed(frame + FrameLayout.count, 1), "frame of records", at: frame),
      Damage("a trailer's count", fixed(trailer + TrailerLayout.frameCount, 1), "trailer counts"),
      Damage("a trailer's size", fixed(trailer + TrailerLayout.fileSize, 8), "trailer says"),
    ]
  }

  @Test("each kind of corruption is refused with its place and reason, and nothing stays of it")
  func corrupted() throws {
    let sending = try Sending()
    for damage in changedBytes + movedBytes + contradictions {
      for piece in [7, 1 << 20] {
        let refusal = refusal("\(damage)") {
          try sending.send(damage.bytes[...], as: "x", piece: piece)
        }
        #expect(refusal?.status == .unprocessableContent, "\(damage)")
        let places = refusal?.corruption ?? []
        let isPlaceFound = places.contains { place in
          place.what.contains(damage.reason) && damage.offset ?? place.offset == place.offset
        }
        let isSaid = refusal?.sentence.contains(damage.reason) == true
        #expect(
          isPlaceFound || (isSaid && damage.offset == nil),
          "\(damage): \(refusal?.sentence ?? "") \(places)")
        #expect(sending.files == [], "\(damage)")
      }
    }
    #expect(try sending.send(archive[...], as: "x").outcome == .stored)
  }

  @Test("what is encrypted for others is checked as far as its checksums go, and stored")
  func encrypted() throws {
    let sending = try Sending()
    var bytes = TestLog.encrypted()
    #expect(try sending.send(bytes[...], as: "x").outcome == .stored)
    bytes[archivePlaces(in: bytes)[4] - 12] ^= 5
    #expect(refusal { try sending.send(bytes[...], as: "y") }?.status == .unprocessableContent)
  }

  @Test("what nobody can decrypt, because its key is not there, is refused")
  func encryptedWithoutKey() throws {
    let sending = try Sending()
    var ofItself = TestLog.encrypted()
    ofItself[FileHeaderLayout.size + FrameLayout.flags] |= FrameLayout.encryptedFlag
    for (bytes, reason) in [
      (TestLog.encrypted(slot: nil), "key slot is missing"),
      (TestLog.encrypted(slot: "no file of age"), "the key: "),
      (ChecksumFix.archive(ofItself), "the key: "),
    ] {
      let refusal = refusal { try sending.send(bytes[...], as: "x") }
      #expect(refusal?.status == .unprocessableContent)
      #expect(refusal?.sentence.contains(reason) == true, "\(refusal?.sentence ?? "")")
      #expect(sending.files == [])
    }
  }

  @Test("bytes that were damaged on their way are said to be")
  func damagedOnItsWay() throws {
    let sending = try Sending()
    var wrong = archive
    wrong[wrong.count - 300] ^= 5
    let checksum = wrong.withUnsafeBytes { crc32c($0) }
    let digest = ["repr-digest": ArchiveChecksum.digest(checksum)]
    let refusal = refusal { try sending.send(archive[...], as: "x", digest) }
    #expect(refusal?.status == .badRequest && refusal?.sentence.contains("on its way") == true)
    #expect(sending.files == [])
  }

  // MARK: - Names

  @Test("no name in a file header leads out of the directory")
  func hostileNames() throws {
    let sending = try Sending()
    let hosts = [
      "..", ".", "", "/", "../../../etc", "a/b", "%2F", "\u{1b}[2J", "x.mmlog", ".mmlog-trash",
      String(repeating: "h", count: 64), "-rf", "a b",
      // A slash and the scalar behind it are one character.
      "a/\u{301}b", "/\u{301}..", "a\u{600}/..", "a\u{600}/b",
    ]
    for (index, host) in hosts.enumerated() {
      let archive = TestLog.sealed(session: UInt64(index + 1), host: host)
      let receipt = try sending.send(archive[...], as: "x")
      let parts = receipt.path.split(separator: "/", omittingEmptySubsequences: false)
      #expect(parts.count == 3 && parts[1] != ".." && parts[1] != "." && !parts[1].isEmpty)
      #expect(receipt.path.utf8.count { $0 == UInt8(ascii: "/") } == 2, "\(host)")
      #expect(try Folder.read(sending.folder("received/\(receipt.path)")) == archive, "\(host)")
      let name = TestLog.sealedName(session: UInt64(index + 1))
      #expect(
        try sending.archives.holding(of: name, client: "c") == .stored(receipt.path, archive.count))
    }
    #expect(sending.files.count == hosts.count)
    #expect(try sending.folder.names() == ["received"])
    for store in ["", "a/b", "../x", String(repeating: "s", count: 120)] {
      let archive = TestLog.sealed(store: store)
      let refusal = refusal(store) { try sending.send(archive[...], as: "x") }
      #expect(refusal?.status == .unprocessableContent, "\(store)")
    }
    #expect(sending.files.count == hosts.count)
    for store in [".hidden", "%", "a b", "\u{7}", "\u{301}x"] {
      let archive = TestLog.sealed(session: 99, store: store)
      let receipt = try sending.send(archive[...], as: "x")
      #expect(receipt.outcome == .stored, "\(store)")
      let name = try #require(receipt.path.utf8.split(separator: UInt8(ascii: "/")).last)
      let holding = try sending.archives.holding(of: "folder/\(Substring(name))", client: "c")
      #expect(holding == .stored(receipt.path, archive.count), "\(store)")
    }
  }

  // MARK: - Limits

  @Test("an archive, a client and all clients have a limit")
  func limits() throws {
    let size = archive.count
    let sending = try Sending {
      ($0.archive, $0.client, $0.total) = (size, 2 * size + 600, 3 * size + 600)
    }
    let large = TestLog.sealed(session: 7, frames: 9)
    #expect(refusal { try sending.send(large[...], as: "x") }?.status == .contentTooLarge)
    func send(_ session: UInt64, _ client: String) throws -> Receipt {
      try sending.send(TestLog.sealed(session: session)[...], as: "\(session)", client: client)
    }
    #expect(try send(1, "a").outcome == .stored)
    #expect(try send(2, "a").outcome == .stored)
    let ofClient = refusal { try send(3, "a") }
    #expect(ofClient?.status == .insufficientStorage)
    #expect(ofClient?.sentence.contains("the client") == true)
    // An unfinished upload counts, too.
    try sending.sendBeginning(of: archive, count: 700, as: "u", client: "b")
    let ofAll = refusal { try send(3, "b") }
    #expect(ofAll?.status == .insufficientStorage)
    #expect(ofAll?.sentence.contains("all clients") == true)
    let rest = "bytes 700-\(size - 1)/\(size)"
    let again = try sending.send(archive[700...], as: "u", client: "b", ["content-range": rest])
    #expect(again.outcome == .unchanged)
    #expect(try send(3, "b").outcome == .stored)
  }

  @Test("uploads that are going on count against a client's limit, with what they spare")
  func limitsOfUploads() throws {
    let size = archive.count
    let sending = try Sending { ($0.client, $0.total) = (2 * size, 4 * size) }
    let other = TestLog.sealed(session: 2)
    func begin(_ name: String, _ length: Int) throws -> Upload? {
      let request = try ReceiverRequest(method: "PUT", path: "/archives/\(name)") {
        $0 == "content-length" ? "\(length)" : nil
      }
      let beginning = try sending.archives.begin(request, of: name, client: "anyone")
      guard case .upload(let upload) = beginning else { return nil }
      return upload
    }
    let first = try #require(try begin("1", size))
    let second = try #require(try begin("2", size))
    #expect(refusal { try sending.send(other[...], as: "3") }?.status == .insufficientStorage)
    archive[..<(size - 1)].withUnsafeBytes { _ = first.append($0) }
    first.suspend()
    second.suspend()
    // An upload of one byte begins under this name, while the earlier part still takes space.
    let small = try #require(try begin("1", 1))
    #expect(throws: Refusal.self) { _ = try begin("2", size + 1) }
    try #require(try begin("2", size)).suspend()
    small.suspend()
    try #require(try begin("2", size + 1)).suspend()
  }

  @Test(
    "what is stored counts after a restart, whatever the host is called",
    arguments: ["tokyo", "a/\u{301}b"])
  func limitsAfterARestart(host: String) throws {
    let folder = TemporaryDirectory()
    var limits = ReceiverLimits()
    (limits.freeSpace, limits.client) = (.bytes(0), archive.count + 600)
    for (session, isRefused) in [(1 as UInt64, false), (2, true)] {
      let archives = try ReceivedArchives(at: folder("received"), limits)
      let bytes = TestLog.sealed(session: session, host: host)
      let request = try ReceiverRequest(method: "PUT", path: "/archives/x") {
        $0 == "content-length" ? "\(bytes.count)" : nil
      }
      do {
        guard case .upload(let upload) = try archives.begin(request, of: "x", client: "c") else {
          throw Failure("nothing begins")
        }
        bytes.withUnsafeBytes { _ = upload.append($0) }
        _ = try upload.finish()
        #expect(!isRefused)
      } catch {
        #expect(isRefused && (error as? Refusal)?.status == .insufficientStorage, "\(error)")
      }
    }
  }

  @Test("a client has so many unfinished uploads at most, and one request for each")
  func unfinished() throws {
    let sending = try Sending { $0.unfinished = 2 }
    try sending.sendBeginning(of: archive, count: 600, as: "1")
    try sending.sendBeginning(of: archive, count: 600, as: "2")
    #expect(refusal { try sending.send(archive[...], as: "3") }?.status == .tooManyRequests)
    try sending.sendBeginning(of: archive, count: 600, as: "3", client: "another")
    let request = try ReceiverRequest(method: "PUT", path: "/archives/1") { _ in nil }
    let first = try sending.archives.begin(request, of: "1", client: "anyone")
    #expect(refusal { try sending.send(archive[...], as: "1") }?.status == .conflict)
    guard case .upload(let upload) = first else { throw Failure("nothing begins") }
    archive.withUnsafeBytes { _ = upload.append($0) }
    #expect(try upload.finish().outcome == .stored)
  }

  @Test("an archive whose name is longer than a file's name can be is not there")
  func longName() throws {
    let long = String(repeating: "a", count: 250)
    let name = "\(long)-20261121T091500Z-\(String(repeating: "0", count: 32))-000001.mmlog"
    guard case .nothing = try Sending().archives.holding(of: name, client: "anyone") else {
      throw Failure("something is there")
    }
  }

  @Test("a client that says too little, or too much, is refused")
  func wrongSizes() throws {
    let sending = try Sending()
    let size = archive.count
    for said in [size - 1, 600] {
      let refusal = refusal {
        try sending.send(archive[...], as: "x", ["content-range": "bytes 0-\(said - 1)/\(said)"])
      }
      #expect(refusal?.status == .badRequest)
      #expect(sending.files == [])
    }
    let part = refusal {
      try sending.send(archive[...], as: "x", ["content-range": "bytes 0-99/\(size)"])
    }
    #expect(part?.status == .badRequest && part?.sentence.hasPrefix("More bytes") == true)
    let few = refusal {
      try sending.send(archive[..<900], as: "x", ["content-range": "bytes 0-\(size - 1)/\(size)"])
    }
    #expect(few?.status == .badRequest && few?.offset == 900)
    #expect(try sending.sendRest(of: archive, from: 900, as: "x").outcome == .stored)
  }

  #if DEBUG
    @Test("whatever the system refuses, the client is told, and the archive can be sent again")
    func faults() throws {
      let calls: [SystemCall] = [
        .pwrite, .fsync, .renameat, .mkdirat, .openat, .pread, .ftruncate, .fstatvfs,
      ]
      for call in calls {
        for number in 0..<4 {
          let sending = try Sending()
          let path = sending.folder.path
          var outcome: Receipt.Outcome?
          ForcedFault.force(call, errno: 5, onCall: number + 1, under: path)
          do { outcome = try sending.send(archive[...], as: "x").outcome } catch {
            let refusal = error as? Refusal
            #expect(refusal?.path?.hasPrefix(path) == true, "\(call) \(number): \(error)")
            #expect(refusal?.sentence.contains(path) == false)
          }
          ForcedFault.clear(under: path)
          if outcome == nil {
            outcome = try sending.send(archive[...], as: "x").outcome
          }
          #expect(outcome == .stored || outcome == .unchanged, "\(call) \(number)")
          #expect(sending.files == ["orders/tokyo/\(name)"], "\(call) \(number)")
        }
      }
    }

    @Test("what the system refuses while what is stored is counted, the client is told")
    func faultOfCounting() throws {
      let path = TemporaryDirectory()
      let host = path("received/orders/tokyo")
      do { try Sending(at: path("received")).send(archive[...], as: "x") }
      let sending = try Sending(at: path("received")) { $0.total = 1 << 30 }
      ForcedFault.force(.openat, errno: EIO, under: host)
      defer { ForcedFault.clear(under: host) }
      let next = TestLog.sealed(session: 2)
      let refused = refusal { try sending.send(next[...], as: "y") }
      #expect(refused?.status == .internalServerError && refused?.retryAfter != nil)
      #expect(refused?.path?.hasPrefix(host) == true)
      #expect(refused?.sentence.contains(path.path) == false)
      #expect(try sending.send(next[...], as: "y").outcome == .stored)
    }

    @Test("that an archive is there is said only when it and its folders are on the disk")
    func existingIsSafe() throws {
      // The process that stored the archive died before the archive's name was on the disk.
      let sending = try Sending()
      try sending.send(archive[...], as: name)
      let path = sending.folder("received")
      let parts = ["", "/orders", "/orders/tokyo", "/orders/tokyo/\(name)"]
      let checksum = ArchiveChecksum.digest(archive.withUnsafeBytes { crc32c($0) })
      // The receiver recognizes the archive by its name and checksum, and then by its bytes. For
      // that, it syncs two folders first.
      for (name, fields, count) in [
        (name, ["repr-digest": checksum, "if-none-match": "*"], parts.count),
        ("another", [:], parts.count + 2),
      ] {
        for call in 1...count {
          ForcedFault.force(.fsync, errno: EIO, onCall: call, under: path)
          let refused = refusal("\(name) \(call)") {
            try sending.send(archive[...], as: name, fields)
          }
          #expect(refused?.status == .internalServerError)
          ForcedFault.clear(under: path)
        }
        #expect(try sending.send(archive[...], as: name, fields).outcome == .unchanged)
      }
      #expect(ForcedFault.struckPaths.isSuperset(of: parts.map { path + $0 }))
    }

    @Test("nobody notes anything about a stored archive while another takes its place")
    func lockedWhileReplaced() throws {
      let sending = try Sending()
      let longer = archive + TestLog.sealed(session: 2)
      try sending.send(archive[...], as: name)
      let stored = "received/orders/tokyo/\(name)"
      let lock = sending.folder("received/orders/tokyo/.mmlog-lock")
      ForcedFault.force(.openat, errno: EIO, under: lock)
      #expect(
        refusal { try sending.send(longer[...], as: name) }?.status == .internalServerError)
      ForcedFault.clear(under: lock)
      #expect(try sending.folder.bytes(stored) == archive)
      #expect(try sending.send(longer[...], as: name).outcome == .extended)
      #expect(try sending.folder.bytes(stored) == longer)
    }

    @Test("a folder that was there is on the disk before an archive is stored in it")
    func foldersAreSafe() throws {
      let sending = try Sending()
      let path = sending.folder("received")
      try Directory.create(path + "/orders")
      try Directory.create(path + "/orders/tokyo")
      ForcedFault.force(.fsync, errno: EIO, onCall: .max, under: path)
      defer { ForcedFault.clear(under: path) }
      try sending.send(archive[...], as: name)
      // These are the directory, the folders of the service and the host, and the archive.
      #expect(ForcedFault.passed(.fsync, under: path) == 4)
    }

    @Test("a receiver that is killed at any system call leaves nothing wrong")
    func killed() async throws {
      let (folder, archive) = (TemporaryDirectory(), TestLog.sealed(frames: 1))
      var (number, hasEnded) = (1, false)
      while !hasEnded {
        let path = folder("\(number)")
        let result = await #expect(processExitsWith: .failure) {
          [path = path as String, number = number as Int] in
          let sending = try Sending(at: path)
          ForcedFault.die(onCall: number, under: path)
          try sending.send(TestLog.sealed(frames: 1)[...], as: "x", piece: 1 << 16)
          exit(7)
        }
        hasEnded = result?.exitStatus == .exitCode(7)
        #expect(hasEnded || result?.exitStatus == .signal(SIGKILL), "call \(number)")
        let sending = try Sending(at: path)
        for stored in sending.files where stored.hasSuffix(".mmlog") {
          #expect(try Folder.read("\(path)/\(stored)") == archive, "call \(number)")
        }
        var start = 0
        if case .unfinished(let size) = try sending.archives.holding(of: "x", client: "anyone") {
          start = min(size, archive.count - 1)
        }
        let outcome = try sending.sendRest(of: archive, from: start, as: "x").outcome
        #expect(outcome == .stored || outcome == .unchanged, "call \(number)")
        #expect(sending.files == ["orders/tokyo/\(name)"], "call \(number)")
        number += 1
      }
      #expect(number > 20)
    }
  #endif
}
