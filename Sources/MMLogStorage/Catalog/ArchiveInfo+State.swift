import MMLogFormat
package import MMLogSystem

/// Where an archive's state is kept: in extended attributes, or in a sidecar. If there is a
/// sidecar, it alone counts.
///
/// Both hold the same texts, one for each thing that is noted. A text that is not valid counts as
/// not noted.
extension ArchiveInfo.State {
  /// The state of the archive in `file`.
  ///
  /// - Throws: what the system refuses, but nothing if the file system has no extended attributes.
  package init(
    of file: borrowing File, name: String, in directory: borrowing Directory
  ) throws(SystemError) {
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

  /// The state of the archive at a path.
  ///
  /// - Throws: what the system refuses.
  package init(ofArchiveAt path: String) throws(SystemError) {
    let (folder, name) = path.splitAtLastSlash
    let directory = try Directory.open(folder)
    try self.init(of: directory.openFile(name, [.read, .nonBlocking]), name: name, in: directory)
  }

  /// Notes the state, wherever there is room for it.
  package func store(
    of file: borrowing File, name: String, in directory: borrowing Directory
  ) throws(SystemError) {
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
  /// In the order in which they are noted: a mark comes after its receipt.
  private static let keys = ["receipt", "uploaded", "pinned", "lease", "attributes"]
  /// The maximum size of a value, in bytes.
  private static let longestValue = 1024

  private init(_ fields: [String: String]) {
    uploaded = fields["uploaded"].flatMap { Timestamp(digits: $0) }
    if uploaded != nil, let text = fields["receipt"], Self.problem(withText: text) == nil {
      receipt = text
    }
    pinned = fields["pinned"].map { Self.line($0) }
    // Any text can be an owner: an empty one, too, and one that combines with the space before it.
    let parts =
      fields["lease"]?.unicodeScalars.split(
        separator: " ", maxSplits: 2, omittingEmptySubsequences: false) ?? []
    if parts.count == 3, let expiry = Timestamp(digits: Substring(parts[0])) {
      lease = UploadLease(
        owner: Self.line(String(parts[2])), expiry: expiry, process: ProcessMark(String(parts[1])))
    }
    attributes = fields["attributes"].map { Self.attributes(of: $0) } ?? [:]
  }

  private var fields: [String: String] {
    var fields: [String: String] = [:]
    fields["uploaded"] = uploaded.map { "\($0.nanosecondsSince1970)" }
    fields["receipt"] = receipt
    fields["pinned"] = pinned
    fields["lease"] = lease.map {
      "\($0.expiry.nanosecondsSince1970) \($0.process.map(\.description) ?? "-") \($0.owner)"
    }
    if !attributes.isEmpty { fields["attributes"] = Self.text(of: attributes) }
    return fields
  }

  /// A text of the caller, or of whoever wrote the attribute, in a form that can be kept: one line,
  /// and not too long.
  package static func line(_ text: String) -> String {
    var line = ""
    for scalar in text.unicodeScalars {
      line.unicodeScalars.append(scalar.isControl ? " " : scalar)
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

  /// Reads a sidecar; nil if there is none.
  private static func readSidecar(
    _ name: String, _ directory: borrowing Directory
  ) throws(SystemError) -> ArchiveInfo.State? {
    try directory.fields(of: sidecar(of: name), atMost: keys.count * (longestValue + 16))
      .map { ArchiveInfo.State($0) }
  }

  private func storeSidecar(_ name: String, _ directory: borrowing Directory) throws(SystemError) {
    try directory.store(
      fields, in: Self.sidecar(of: name), written: { TestPoint.reach(.stateSidecarWritten) })
    // Otherwise a power cut could undo the name, and with it what was noted.
    try directory.sync()
  }
}
