import MMLogFormat
package import MMLogSystem

/// The file in which a consumer keeps its state. A consumer reads a store's archives from a cursor
/// of its own: FORMAT.md, 9.
///
/// The state is a text in one of three slots: the newest state whose checksum is right counts. A
/// new state goes into the slot of the oldest and takes no new space, so that a full disk does not
/// stop it. After the last state that was made safe from a power cut, two states may be written,
/// and that last one stays.
///
/// Its lock says that the consumer is at work. For one thread at a time.
package struct ConsumerFile: ~Copyable, Sendable {
  package let name: String
  private var lock: LockedFile
  private var sequence: UInt64 = 0
  /// Whether the state of this sequence is known to be on the disk.
  private var isSynced = false
  private var slotSize: Int
  /// Whether a file of that name was there when this one was opened.
  package let wasThere: Bool

  private static let suffix = ".consumer"
  private static let magic: UInt64 = 0x3150_4948_534C_4D4D
  private static let headSize = 24
  private static let slots = 3
  private static let smallestSlot = 16 << 10
  /// The maximum size of a slot, in bytes.
  private static let largestSlot = 16 << 20

  /// The name of a consumer's file.
  package static func fileName(of consumer: String) -> String { consumer + suffix }

  /// The consumer whose file has this name; nil if it is no such name.
  package static func consumer(ofFileName name: String) -> String? {
    guard let consumer = name.without(suffix: suffix), problem(withName: consumer) == nil else {
      return nil
    }
    return consumer
  }

  /// Why a consumer cannot have this name; nil if it can.
  package static func problem(withName name: String) -> String? {
    if name.isEmpty || name.utf8.count > 64 { return "must have 1 to 64 characters" }
    if !name.isPlainName || name.hasPrefix(".") {
      return "must consist of letters, digits, '-', '_' and '.', and not begin with '.'"
    }
    return nil
  }

  /// Opens a consumer's file, makes it if there is none, and locks it.
  ///
  /// - Returns: Nil if another consumer of that name is at work.
  package init?(_ consumer: String, in directory: borrowing Directory) throws(LogError) {
    let name = Self.fileName(of: consumer)
    wasThere = ((try? directory.status(of: name)) ?? nil) != nil
    guard let lock = try Self.lock(name, in: directory) else { return nil }
    slotSize = ((try? lock.file.status().size) ?? 0) / Self.slots
    self.name = name
    self.lock = lock
  }

  private static func lock(
    _ name: String, in directory: borrowing Directory
  ) throws(LogError) -> LockedFile? {
    do {
      _ = try directory.ownStatus(of: name)
      guard let lock = try LockedFile.open(name, in: directory, isMade: true) else { return nil }
      // Somebody else may just have made a larger file in its place.
      let named = try directory.status(of: name)
      if try named?.identity != lock.file.status().identity { return nil }
      return lock
    } catch {
      throw LogError(error, while: Self.what, path: directory.path(of: name))
    }
  }

  /// Whether the locked file still has its name.
  package func isInPlace(in directory: borrowing Directory) throws(SystemError) -> Bool {
    try directory.status(of: name)?.identity == lock.file.status().identity
  }

  /// The newest state; nil if none was ever written.
  ///
  /// - Throws: `corruptedFile` if there are states, and none can be read.
  package mutating func read() throws(LogError) -> String? {
    guard let found = try Self.newest(in: lock.file) else { return nil }
    (sequence, isSynced) = (found.sequence, false)
    return found.text
  }

  /// Writes a state. If that fails, the two states before it stay, and the next one goes into the
  /// same slot.
  ///
  /// - Parameter isSafe: Whether it is to be safe from a power cut when this returns.
  package mutating func write(
    _ text: String, isSafe: Bool, in directory: borrowing Directory
  ) throws(LogError) {
    let bytes = Array(text.utf8)
    let file = directory.path(of: name)
    guard bytes.count + Self.headSize <= Self.largestSlot else {
      throw LogError(
        .unsupported,
        "The state of \(file) would take \(bytes.count) bytes: there are too many sessions. Limit "
          + "the number of archives", path: file)
    }
    do throws(SystemError) {
      try makeRoom(for: bytes.count + Self.headSize, in: directory)
      let next = sequence &+ 1
      let slot = Int(next % UInt64(Self.slots)) * slotSize
      try lock.file.write(all: Self.slot(bytes, next), at: slot)
      TestPoint.reach(.consumerStateWritten)
      // One of the last two states is on the disk in any case.
      let syncs = isSafe || !isSynced
      if syncs { try lock.file.syncData() }
      (sequence, isSynced) = (next, syncs)
    } catch {
      // Nothing was ever noted in the file, and an empty file says nothing.
      if slotSize == 0 { try? directory.remove(name) }
      throw LogError(error, while: "Noting what was shipped failed", path: file)
    }
  }

  /// Why no state of a consumer can be noted; nil if one can, or if that cannot be found out
  /// without leaving a name in the directory.
  package static func problem(
    ofNoting consumer: String, in directory: borrowing Directory
  ) -> SystemError? {
    do throws(SystemError) {
      let file = try directory.makeUnnamedFile(for: fileName(of: consumer))
      // A state that is there already has the room that it needs.
      if (try? notedState(of: consumer, in: directory)) == nil {
        try file.allocate(offset: 0, count: smallestSlot * slots)
      }
      return nil
    } catch {
      return error.isWithoutUnnamedFiles ? nil : error
    }
  }

  private static let what = "Opening the state of a consumer failed"

  // MARK: - Bytes

  private static func slot(_ text: [UInt8], _ sequence: UInt64) -> [UInt8] {
    var head = [UInt8](repeating: 0, count: headSize)
    head.withUnsafeMutableBytes { out in
      out.store(magic, 0)
      out.store(sequence, 8)
      out.store(UInt32(text.count), 16)
    }
    var bytes = head + text
    let checksum = bytes.withUnsafeBytes { Self.checksum($0) }
    bytes.withUnsafeMutableBytes { $0.store(checksum, 20) }
    return bytes
  }

  /// The checksum of all bytes of a slot, with zeros in the checksum's place.
  private static func checksum(_ slot: UnsafeRawBufferPointer) -> UInt32 {
    var bytes = Array(slot)
    for index in 20..<24 { bytes[index] = 0 }
    return bytes.withUnsafeBytes { crc32c($0) }
  }

  private static func newest(
    in file: borrowing File
  ) throws(LogError) -> (sequence: UInt64, text: String)? {
    let (path, size): (String, Int)
    do throws(SystemError) { (path, size) = (file.path, try file.status().size) } catch {
      throw LogError(error, while: what)
    }
    let slotSize = size / slots
    if size == 0 { return nil }
    let corrupted = LogError(
      .corruptedFile,
      "\(path) is corrupted: what was shipped is not known. Bring it back from a copy, or remove "
        + "it and have everything shipped again", path: path)
    guard slotSize <= largestSlot else { throw corrupted }
    var newest: (sequence: UInt64, text: String)?
    var isEmpty = true
    for index in 0..<slots {
      let bytes: [UInt8]
      do throws(SystemError) {
        bytes = try file.bytes(at: index * slotSize, count: slotSize)
      } catch {
        throw LogError(error, while: what)
      }
      isEmpty = isEmpty && bytes.allSatisfy { $0 == 0 }
      if let found = text(bytes), found.sequence > newest?.sequence ?? 0 { newest = found }
    }
    if newest != nil || isEmpty { return newest }
    throw corrupted
  }

  private static func text(_ slot: [UInt8]) -> (sequence: UInt64, text: String)? {
    guard slot.count >= headSize else { return nil }
    return slot.withUnsafeBytes { bytes in
      guard bytes.load(0, as: UInt64.self) == magic else { return nil }
      let count = Int(bytes.load(16, as: UInt32.self))
      guard count <= bytes.count - headSize else { return nil }
      let whole = bytes.slice(0, headSize + count)
      guard checksum(whole) == bytes.load(20, as: UInt32.self),
        let text = String(validating: whole.slice(headSize, count), as: UTF8.self)
      else { return nil }
      return (bytes.load(8, as: UInt64.self), text)
    }
  }

  /// Makes the slots larger, if they are too small: in a new file, which takes the name.
  private mutating func makeRoom(
    for size: Int, in directory: borrowing Directory
  ) throws(SystemError) {
    if size <= slotSize { return }
    var wanted = Self.smallestSlot
    while wanted < size { wanted *= 2 }
    let newest = (try? Self.newest(in: lock.file)) ?? nil
    let other = try LockedFile.make(named: name, in: directory) { (file) throws(SystemError) in
      try file.allocate(offset: 0, count: wanted * Self.slots)
      if let newest {
        let slot = Int(newest.sequence % UInt64(Self.slots)) * wanted
        try file.write(all: Self.slot(Array(newest.text.utf8), newest.sequence), at: slot)
      }
      try file.sync()
      TestPoint.reach(.consumerFileMade)
    }
    try directory.sync()
    lock = other
    slotSize = wanted
    // The newest state is the only one there: the next one must not take its place.
    if let newest { (sequence, isSynced) = (newest.sequence, true) }
  }

  // MARK: - Others' states

  /// The newest state of a consumer, without its lock; nil if none was ever written.
  ///
  /// - Throws: what keeps the state from being read, which keeps the consumer from being opened,
  ///   too.
  package static func notedState(
    of consumer: String, in directory: borrowing Directory
  ) throws(LogError) -> String? {
    let name = fileName(of: consumer)
    do {
      guard let file = try directory.openOwnIfThere(name) else { return nil }
      return try newest(in: file)?.text
    } catch {
      throw LogError(error, while: what, path: directory.path(of: name))
    }
  }

  /// The consumers that have a state in a directory. A consumer that was killed before its first
  /// state was written has left an empty file, which is no state.
  package static func consumers(in directory: borrowing Directory) throws(SystemError) -> [String] {
    var consumers: [String] = []
    for name in try directory.names() {
      guard let consumer = consumer(ofFileName: name) else { continue }
      if try directory.status(of: name)?.size != 0 { consumers.append(consumer) }
    }
    return consumers.inOrder()
  }
}
