public import MMLogReader
public import MMLogStorage
import MMLogFormat
import MMLogSystem

/// Writes records as lines to a file that is rotated, for programs that read plain text.
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
/// The newest lines are always in the file of that name. A rotated file gets the time into its
/// name, such as `orders-20261125T004500.123456789Z.txt`, and stays as it is. At the start, an
/// existing file is continued, with its age. If somebody moves the file away or removes it, a new
/// one is begun, so logrotate(8) may rotate it, too. The directory is made if it is missing.
///
/// The file is appended to, some lines with each write(2), so several processes may share it.
/// Limits are checked at each write, and count what all of them have written. If a full disk cuts a
/// write, the next write begins with a line end, and has the same records again.
public struct TextFile: LogTap.Output {
  /// The file and its directory.
  private final class Open {
    let directory: Directory
    let file: File
    var size: Int
    var timer: RotationTimer

    init(_ folder: String, name: String, _ mode: UInt32) throws(SystemError) {
      var directory = try Directory.open(folder)
      try directory.noteIdentity()
      var file = try directory.openFile(name, [.write, .append, .create], mode: mode)
      try file.noteIdentity()
      size = try file.status().size
      let now = Moment.now
      timer = RotationTimer(created: TextFile.begun(file, isNew: size == 0, now.wall), now: now)
      self.directory = directory
      self.file = file
    }

    /// Whether the file has this name still, and the program has not closed its descriptors, whose
    /// numbers may be those of other files by now.
    func isInPlace(_ named: FileStatus?) -> Bool {
      named?.identity == file.identity && file.isStillOpen && directory.isStillOpen
    }
  }

  /// The attribute with the time at which a file was begun: decimal nanoseconds since 1970.
  private static let attribute = "user.mmlog.begun"

  private let path: String
  private let (folder, name): (String, String)
  private let format: LineFormat
  private let rotation: Rotation
  /// Why that cannot be used; nil if it can.
  private let problem: String?
  private let count: Int
  private let mode: UInt32
  private var writer: LineWriter
  private var open: Open?
  /// Whether the last write was cut.
  private var isCut = false
  /// Whether the file says that it cannot be rotated.
  private var isUnrotated = false

  /// Makes an output to a file.
  ///
  /// - Parameters:
  ///   - path: The file's path. A relative path is relative to the working directory at this call.
  ///     The file itself must not be a symbolic link, as `/dev/stdout` is one: for standard output,
  ///     see ``Console``.
  ///   - format: How a record is written. Default: as text for people, without colors.
  ///   - rotation: When the file is closed and another begun; exceeded by 64 KiB, or one record, at
  ///     most. Default: 64 MiB or 24 hours. Its size is at least 1. If it cannot be used, for
  ///     example because the machine does not know its time zone, nothing is written, and
  ///     ``/MMLog/LogStore/Event/tapFailed(tap:error:)`` says why.
  ///   - count: How many files are kept, the newest one included: from 1. Default: 8.
  ///   - mode: The permission bits of new files, less the process's umask. Default: `0o600`.
  ///   - zone: The zone in which times are shown.
  public init(
    _ path: String, as format: LineFormat = .text(colors: .never),
    rotation: Rotation = Rotation(), count: Int = 8, mode: UInt32 = 0o600,
    zone: LogTimeZone = .local
  ) {
    precondition(count >= 1, "TextFile: count is \(count), and must be at least 1")
    // If the working directory cannot be found out, opening the file reports it.
    self.path = (try? CurrentProcess.absolutePath(path)) ?? path
    (folder, name) = self.path.splitAtLastSlash
    (self.format, self.rotation) = (format, rotation)
    // Unlike an archive, a file of text may be small, and young.
    problem =
      if let size = rotation.size, size < 1 {
        "rotation.size is \(size): it must be at least 1, or nil"
      } else if let age = rotation.age, age <= .zero {
        "rotation.age is \(age): it must be more than zero, or nil"
      } else {
        Rotation(calendar: rotation.calendar).problem
      }
    (self.count, self.mode) = (count, mode)
    writer = LineWriter(format.makeFormatter(for: nil, zone: zone))
  }

  /// Appends lines: write(2).
  ///
  /// - Throws: The system's error of opening or writing the file. A part of the lines may be in the
  ///   file, and comes again on a line of its own.
  public mutating func write(_ records: ArraySlice<LogReader.Record>) throws -> Int {
    try prepare()
    let room = rotation.size.map { max(1, $0 - (open?.size ?? 0)) } ?? .max
    let (bytes, count) = writer.lines(of: records, atMost: room)
    try append(bytes)
    return count
  }

  /// Appends a line that says how many records are missing.
  ///
  /// - Throws: As for records.
  public mutating func write(missing count: UInt64) throws {
    try prepare()
    try append(Array(format.notice(LogTap.notice(ofMissing: count)).utf8))
  }

  private mutating func append(_ bytes: [UInt8]) throws {
    guard let open else { return }
    let bytes = isCut ? [UInt8(ascii: "\n")] + bytes : bytes
    // Stays true if the write fails: some of the bytes may be in the file.
    isCut = true
    try bytes.span.bytes.withUnsafeBytes { (bytes) throws(SystemError) in
      try open.file.writeFully(bytes)
    }
    isCut = false
  }

  // MARK: - Rotation

  /// Opens the file, and rotates it if that is due.
  private mutating func prepare() throws {
    if let problem {
      throw LogError(.invalidConfiguration, "TextFile cannot write: \(problem)", path: path)
    }
    // By the path: the directory may have been moved away, too.
    if let open {
      let named = try? File.status(ofPath: path)
      if let named, open.isInPlace(named) { open.size = named.size } else { self.open = nil }
    }
    try openFile()
    guard let open, open.size > 0,
      open.timer.reason(rotation, size: open.size, now: .now) != nil
    else { return }
    // Of several processes one rotates the file; without locks, each may.
    guard (try? open.file.tryLock()) != false else { return }
    defer { try? open.file.unlock() }
    guard open.isInPlace(try? File.status(ofPath: path)) else { return }
    do throws(SystemError) {
      // The name sorts behind the newest existing one, even if the clock was set back: the first
      // name is the oldest file's.
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

  /// Says in the file, once, that it is not rotated. Writing goes on: a file that is too large is
  /// better than lost lines.
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
    let new = try Open(folder, name: name, mode)
    open = new
    // The process before may have ended with a full disk.
    (isCut, isUnrotated) = (new.size > 0 && endsInLine() == false, false)
  }

  /// Whether the file ends in a whole line; nil if that cannot be found out.
  private func endsInLine() -> Bool? {
    guard let open, let file = try? open.directory.openFile(name, [.read, .nonBlocking]),
      let size = try? file.status().size, size > 0,
      let last = try? file.bytes(at: size - 1, count: 1).first
    else { return nil }
    return last == UInt8(ascii: "\n")
  }

  /// The name's part before its extension, and the extension.
  private var nameParts: (Substring, Substring) {
    guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex else {
      return (name[...], "")
    }
    return (name[..<dot], name[dot...])
  }

  /// Returns a time as ISO 8601 has it without separators, so that names sort by time.
  private static func stamp(_ time: Timestamp) -> String {
    UTCTime(time).description.filter { $0 != "-" && $0 != ":" }
  }

  /// Returns a stamp that sorts behind another one. At the end of a minute, it is no valid time.
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

  /// Returns the stamps of the rotated files.
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
    // One that cannot be removed keeps no other.
    for stamp in try stamps(in: open.directory).sorted().dropLast(count - 1) {
      try? open.directory.remove(rotatedName(stamp))
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

  /// Returns when a file was begun: as it is noted, or now. An existing file without a note counts
  /// as old as its last change.
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
