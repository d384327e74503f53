/// Who wrote a file: what the file headers of ring and archive have in common.
public struct SessionIdentity: Equatable, Sendable {
  /// The session.
  public var session: SessionID
  /// The boot of the machine, 16 bytes; zeros if unknown.
  package var bootID: [UInt8]
  /// The process's id.
  public var processID: UInt32
  /// When the session started.
  public var startTime: Timestamp
  /// The process's name, cut to 64 bytes.
  public var processName: String
  /// The machine's name, cut to 64 bytes.
  public var hostName: String
  /// The time zone of the process, such as `Europe/Berlin`, cut to 64 bytes.
  public var timeZone: String
  /// The store's name.
  public var storeName: String

  package init(
    session: SessionID, bootID: [UInt8], processID: UInt32, startTime: Timestamp,
    processName: String,
    hostName: String, timeZone: String, storeName: String
  ) {
    self.session = session
    self.bootID = bootID
    self.processID = processID
    self.startTime = startTime
    self.processName = processName
    self.hostName = hostName
    self.timeZone = timeZone
    self.storeName = storeName
  }

  /// Whether the machine has been running ever since, if its present boot is `bootID`.
  ///
  /// False for zeros: then the boot is not known, and the machine may have been down meanwhile.
  package func isOfBoot(_ bootID: [UInt8]) -> Bool {
    self.bootID == bootID && bootID.contains { $0 != 0 }
  }

  func encode(
    magic: StaticString, pageSize: UInt32, into out: UnsafeMutableRawBufferPointer
  ) {
    magic.withUTF8Buffer { out.store(bytes: $0, FileHeaderLayout.magic) }
    out.store(formatVersion, FileHeaderLayout.version)
    out.store(UInt32(FileHeaderLayout.size), FileHeaderLayout.fileHeaderSize)
    out.store(FileHeaderLayout.byteOrderProbeValue, FileHeaderLayout.byteOrderProbe)
    out.store(pageSize, FileHeaderLayout.pageSize)
    out.store(bytes: session.bytes, FileHeaderLayout.session)
    out.store(bytes: bootID.prefix(16), FileHeaderLayout.bootID)
    out.store(processID, FileHeaderLayout.processID)
    out.store(startTime, FileHeaderLayout.startTime)
    out.store(text: processName, FileHeaderLayout.processName, FileHeaderLayout.processNameSize)
    out.store(text: hostName, FileHeaderLayout.hostName, FileHeaderLayout.hostNameSize)
    out.store(text: timeZone, FileHeaderLayout.timeZone, FileHeaderLayout.timeZoneSize)
    out.store(text: storeName, FileHeaderLayout.storeName, FileHeaderLayout.storeNameSize)
  }

  init(_ bytes: UnsafeRawBufferPointer) {
    session = SessionID(bytes, at: FileHeaderLayout.session)
    bootID = Array(bytes.slice(FileHeaderLayout.bootID, 16))
    processID = bytes.load(FileHeaderLayout.processID, as: UInt32.self)
    startTime = bytes.load(FileHeaderLayout.startTime, as: Timestamp.self)
    processName = bytes.text(FileHeaderLayout.processName, FileHeaderLayout.processNameSize)
    hostName = bytes.text(FileHeaderLayout.hostName, FileHeaderLayout.hostNameSize)
    timeZone = bytes.text(FileHeaderLayout.timeZone, FileHeaderLayout.timeZoneSize)
    storeName = bytes.text(FileHeaderLayout.storeName, FileHeaderLayout.storeNameSize)
  }
}
