public import MMLogReader
public import MMLogStorage
import MMLogFormat
import MMLogSystem

/// Writes records as lines to a file that is rotated, for what reads plain text.
///
/// ```swift
/// import MMLog
/// import MMLogTaps
///
/// var configuration = LogStore.Configuration()
/// configuration.taps = [
///   LogTap(TextFile("/var/log/orders/orders.txt", rotation: .init(size: 10 << 20), count: 5))
/// ]
/// ```
///
/// The newest lines are always in the file of that name. A file that is rotated gets its time into
/// its name, such as `orders-20261125T004500.123456789Z.txt`, and stays as it is. A file that is
/// there at the start goes on, with its age. A file that somebody moves away or removes is begun
/// anew, so logrotate(8) may rotate it, too. The directory is made if it is missing.
///
/// The file is appended to, some lines with each write(2), so several processes may share it.
/// Limits are checked when something is written, and are of what all of them have written. A write
/// that a full disk cuts is ended with a line end, and its records are written again.
public struct TextFile: LogTap.Output {
  /// The file and its directory.
  private final class Open {
    let directory: Directory
    let file: File
    let inode: UInt64
    var size: Int
    var timer: RotationTimer

    init(_ directory: consuming Directory, name: String, _ mode: UInt32) throws(SystemError) {
      let file = try directory.openFile(name, [.write, .append, .create], mode: mode)
      let status = try file.status()
      (inode, size) = (status.inode, status.size)
      let now = Moment.now
      let begun = TextFile.begun(file, isNew: status.size == 0, now.wall)
      timer = RotationTimer(created: begun, now: now)
      self.directory = directory
      self.file = file
    }
  }

  /// Where the time is noted at which a file was begun: decimal nanoseconds since 1970.
  private static let attribute = "user.mmlog.begun"

  private let path: String
  private let (folder, name): (String, String)
  private let format: LineFormat
  private let rotation: Rotation
  private let count: Int
  private let mode: UInt32
  private var writer: LineWriter
  private var open: Open?
  /// Whether the last write was cut.
  private var isCut = false
  /// Whether the file says that it cannot be rotated.
  private var isUnrotated = false

  /// A file.
  ///
  /// - Parameters:
  ///   - path: The file's path. A relative one begins at the working directory of this moment.
  ///   - format: How a record is written. Default: as text for people, without colors.
  ///   - rotation: When the file is closed and another begun; exceeded by 64 KiB, or one record, at
  ///     most. Default: 64 MiB or 24 hours.
  ///   - count: How many files are kept, the newest one included: from 1. Default: 8.
  ///   - mode: The permission bits of new files, less the process's umask. Default: `0o600`.
  ///   - zone: The zone that times are shown in.
  public init(
    _ path: String, as format: LineFormat = .text(colors: .never),
    rotation: Rotation = Rotation(), count: Int = 8, mode: UInt32 = 0o600,
    zone: LogTimeZone = .local
  ) {
    precondition(count >= 1, "TextFile: count is \(count), and must be at least 1")
    // What keeps the working directory from being known shows when the file is opened.
    self.path = (try? CurrentProcess.absolutePath(path)) ?? path
    (folder, name) = self.path.splitAtLastSlash
    (self.format, self.rotation) = (format, rotation)
    (self.count, self.mode) = (count, mode)
    writer = LineWriter(format.makeFormatter(for: nil, zone: zone))
  }

  /// Appends lines: write(2).
  public mutating func write(_ records: ArraySlice<LogReader.Record>) throws -> Int {
    try prepare()
    let room = rotation.size.map { max(1, $0 - (open?.size ?? 0)) } ?? .max
    let (bytes, count) = writer.lines(of: records, atMost: room)
    try append(bytes)
    return count
  }

  /// Appends a line that says so.
  public mutating func write(missing count: UInt64) throws {
    try prepare()
    try append(Array(format.notice(LogTap.notice(ofMissing: count)).utf8))
  }

  private mutating func append(_ bytes: [UInt8]) throws {
    guard let open else { return }
    let bytes = isCut ? [UInt8(ascii: "\n")] + bytes : bytes
    // Whatever happens: some of them may be there.
    isCut = true
    try bytes.span.bytes.withUnsafeBytes { (bytes) throws(SystemError) in
      try open.file.writeFully(bytes)
    }
    isCut = false
  }

  // MARK: - Rotation

  /// Opens the file, and rotates it if that is due.
  private mutating func prepare() throws {
    // By the path: the directory may have been moved away, too.
    if let open {
      let status = try? File.status(ofPath: path)
      if let status, status.inode == open.inode { open.size = status.size } else { self.open = nil }
    }
    try openFile()
    guard let open, open.size > 0,
      open.timer.reason(rotation, size: open.size, now: .now) != nil
    else { return }
    // Of several processes one rotates the file; where there are no locks, each may.
    guard (try? open.file.tryLock()) != false else { return }
    defer { try? open.file.unlock() }
    guard let status = try? File.status(ofPath: path), status.inode == open.inode else { return }
    do throws(SystemError) {
      // Behind the newest one that is there, for the clock may have been set back: the first name
      // is the oldest file's.
      let newest = try stamps(in: open.directory).max()
      let stamp = max(Self.stamp(.now), newest.map(Self.next) ?? "")
      try open.directory.rename(name, to: rotatedName(stamp))
    } catch {
      return try noteUnrotated(error)
    }
    self.open = nil
    try openFile()
    try? removeOldest()
  }

  /// Says in the file, once, that it is not rotated. It goes on: too large is better than lost.
  private mutating func noteUnrotated(_ error: SystemError) throws {
    if isUnrotated { return }
    let name = SystemError.name(of: error.errno)
    try append(
      Array(
        format.notice(
          "This file could not be renamed (\(name)), so it grows. Whoever writes it needs write "
            + "access to its directory, and space there."
        ).utf8))
    isUnrotated = true
  }

  private mutating func openFile() throws {
    if open != nil { return }
    try Directory.create(folder)
    open = try Open(Directory.open(folder), name: name, mode)
    (isCut, isUnrotated) = (false, false)
  }

  /// The name's part before its extension, and that.
  private var nameParts: (Substring, Substring) {
    guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex else {
      return (name[...], "")
    }
    return (name[..<dot], name[dot...])
  }

  /// As ISO 8601 has it without separators: names sort by time.
  private static func stamp(_ time: Timestamp) -> String {
    UTCTime(time).description.filter { $0 != "-" && $0 != ":" }
  }

  /// A stamp that sorts behind another one, if no time at the end of a minute.
  private static func next(_ stamp: String) -> String {
    var digits = Array(stamp.utf8)
    for index in digits.indices.reversed() where (48...57).contains(digits[index]) {
      digits[index] = digits[index] == 57 ? 48 : digits[index] + 1
      if digits[index] != 48 { break }
    }
    return String(decoding: digits, as: UTF8.self)
  }

  private func rotatedName(_ stamp: String) -> String {
    let (base, suffix) = nameParts
    return "\(base)-\(stamp)\(suffix)"
  }

  /// When files that are there were rotated.
  private func stamps(in directory: borrowing Directory) throws(SystemError) -> [String] {
    let (base, suffix) = nameParts
    return try directory.names().compactMap { other in
      guard other.hasPrefix("\(base)-"), other.hasSuffix(suffix) else { return nil }
      let stamp = other.dropFirst(base.count + 1).dropLast(suffix.count)
      return Self.isStamp(stamp) ? String(stamp) : nil
    }
  }

  private func removeOldest() throws {
    guard let open else { return }
    for stamp in try stamps(in: open.directory).sorted().dropLast(count - 1) {
      try open.directory.remove(rotatedName(stamp))
    }
  }

  /// Whether a text is a time as names have it: `20261125T004500.123456789Z`.
  private static func isStamp(_ text: Substring) -> Bool {
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    let shape = Array("########T######.#########Z".utf8)
    return text.utf8.count == shape.count
      && zip(text.utf8, shape).allSatisfy { byte, kind in
        kind == UInt8(ascii: "#") ? digits.contains(byte) : byte == kind
      }
  }

  /// When a file was begun: as it is noted, or now. Where nothing can be noted, a file that goes on
  /// is as old as its last change.
  private static func begun(
    _ file: borrowing File, isNew: Bool, _ now: Timestamp
  ) -> Timestamp {
    if !isNew, let noted = try? file.attribute(attribute),
      let time = Int64(String(decoding: noted, as: UTF8.self))
    {
      return Timestamp(nanosecondsSince1970: time)
    }
    let time = isNew ? now : (try? file.status().modified).map(Timestamp.init) ?? now
    try? file.setAttribute(attribute, Array("\(time.nanosecondsSince1970)".utf8))
    return time
  }
}
