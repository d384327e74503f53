import MMLogSystem

/// Where an archive's state is kept: in extended attributes, or in a sidecar. If there is a
/// sidecar, it alone counts.
///
/// Both hold the same texts, one for each thing that is noted. What is not in order counts as not
/// noted.
extension ArchiveInfo.State {
  /// The state of the archive in `file`.
  ///
  /// - Throws: what the system refuses, except extended attributes where there are none.
  init(of file: borrowing File, name: String, in directory: borrowing Directory) throws(SystemError)
  {
    if let sidecar = try Self.readSidecar(name, directory) {
      self = sidecar
      return
    }
    var fields: [String: String] = [:]
    for key in Self.keys {
      do throws(SystemError) {
        guard let value = try file.attribute(Self.prefix + key) else { continue }
        fields[key] = String(validating: value, as: UTF8.self)
      } catch  where error.isNotSupported {
        break
      }
    }
    self.init(fields)
  }

  /// Notes the state, wherever there is room for it.
  func store(of file: borrowing File, name: String, in directory: borrowing Directory)
    throws(SystemError)
  {
    if try Self.readSidecar(name, directory) == nil {
      do throws(SystemError) {
        return try storeAttributes(file)
      } catch  where error.isNotSupported || error.isOutOfSpace {}
    }
    try storeSidecar(name, directory)
  }

  /// The name of an archive's sidecar.
  static func sidecar(of name: String) -> String { name + sidecarSuffix }

  /// What a sidecar's name ends in.
  static let sidecarSuffix = ".state"

  // MARK: - Texts

  private static let prefix = "user.mmlog."
  private static let keys = ["uploaded", "pinned", "lease"]
  /// No value is longer, in bytes.
  private static let longestValue = 1024

  private init(_ fields: [String: String]) {
    uploaded = fields["uploaded"].flatMap { Int64($0) }
    pinned = fields["pinned"].map { Self.line($0) }
    if let parts = fields["lease"]?.split(separator: " ", maxSplits: 1), parts.count == 2,
      let expiry = Int64(parts[0])
    {
      lease = UploadLease(owner: Self.line(String(parts[1])), expiry: expiry)
    }
  }

  private var fields: [String: String] {
    var fields: [String: String] = [:]
    fields["uploaded"] = uploaded.map { "\($0)" }
    fields["pinned"] = pinned
    fields["lease"] = lease.map { "\($0.expiry) \($0.owner)" }
    return fields
  }

  /// A text of a caller's, or of whoever wrote the attribute, as it can be kept: in one line, and
  /// not too long.
  package static func line(_ text: String) -> String {
    var line = ""
    for scalar in text.unicodeScalars {
      let isControl = scalar.value < 32 || (127..<160).contains(scalar.value)
      line.unicodeScalars.append(isControl ? " " : scalar)
      if line.utf8.count > longestValue - 32 { break }
    }
    return line
  }

  // MARK: - Extended attributes

  private func storeAttributes(_ file: borrowing File) throws(SystemError) {
    let fields = fields
    for key in Self.keys {
      if let value = fields[key] {
        try file.setAttribute(Self.prefix + key, Array(value.utf8))
      } else {
        try file.removeAttribute(Self.prefix + key)
      }
      TestPoint.reach(.stateAttributeSet)
    }
  }

  // MARK: - Sidecar

  /// Nil if there is none. `key value` on each line.
  private static func readSidecar(
    _ name: String, _ directory: borrowing Directory
  ) throws(SystemError) -> ArchiveInfo.State? {
    let file: File
    do throws(SystemError) {
      file = try directory.openFile(sidecar(of: name), [.read, .nonBlocking])
    } catch  where error.isNotFound {
      return nil
    }
    if try Ownership(of: directory).isForeign(file.status()) { return nil }
    let bytes = try file.bytes(at: 0, count: keys.count * (longestValue + 16))
    var fields: [String: String] = [:]
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      guard let text = String(validating: line, as: UTF8.self) else { continue }
      let parts = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
      fields[String(parts[0])] = parts.count == 2 ? String(parts[1]) : ""
    }
    return ArchiveInfo.State(fields)
  }

  /// Whole or not at all: under another name first.
  private func storeSidecar(_ name: String, _ directory: borrowing Directory) throws(SystemError) {
    let sidecar = Self.sidecar(of: name)
    let unfinished = sidecar + FileNames.unfinishedSuffix
    let text = fields.map { "\($0.key) \($0.value)\n" }.sorted().joined()
    // Left over, or planted.
    do throws(SystemError) { try directory.remove(unfinished) } catch  where error.isNotFound {}
    let file = try directory.openFile(unfinished, [.write, .create, .exclusive])
    do throws(SystemError) {
      try file.write(all: Array(text.utf8), at: 0)
      try file.syncData()
      TestPoint.reach(.stateSidecarWritten)
      try directory.rename(unfinished, to: sidecar)
    } catch {
      try? directory.remove(unfinished)
      throw error
    }
  }
}
