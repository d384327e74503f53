import Glibc

/// What processes did with archives before they died, in a folder that outlives them. Later checks
/// see what limits deleted, and which facts the store had confirmed.
///
/// It does not use the logger's system calls, so none of its calls is made to fail, or counted.
package struct ArchiveLedger: Sendable {
  /// What a process may have learned of an archive.
  package enum Fact: String, CaseIterable, Sendable {
    /// The archive is uploaded, and nobody takes that back.
    case uploaded
    /// The archive is pinned.
    case pinned
    /// A process has the lease on the archive.
    case leased
  }

  /// An archive that was there once.
  package struct Link: Sendable {
    /// Where the archive can still be read.
    package let path: String
    /// The name that the archive had.
    package let fileName: String
  }

  package let path: String

  /// - Parameter path: An empty folder, or one that is a ledger already.
  package init(_ path: String) {
    self.path = path
    mkdir(path, 0o700)
    for folder in ["links"] + Fact.allCases.map(\.rawValue) { mkdir("\(path)/\(folder)", 0o700) }
  }

  // MARK: - Archives

  /// Gives each archive in `directory` another name here, by which it can still be read when it has
  /// been deleted there.
  ///
  /// - Returns: How many there are.
  @discardableResult
  package func link(archivesIn directory: String) -> Int {
    let names = Self.names(directory).filter { $0.hasSuffix(".mmlog") }
    for name in names {
      guard let number = Self.inode("\(directory)/\(name)") else { continue }
      // No other file gets the inode number as long as this link is there.
      _ = Glibc.link("\(directory)/\(name)", "\(path)/links/\(number)-\(name)")
    }
    return names.count
  }

  /// The archives that were in `directory`, and are not any more.
  package func deleted(from directory: String) -> [Link] {
    let left = Set(Self.names(directory).compactMap { Self.inode("\(directory)/\($0)") })
    return Self.names("\(path)/links").compactMap { name in
      guard let dash = name.firstIndex(of: "-"), let number = UInt64(name[..<dash]),
        !left.contains(number)
      else { return nil }
      return Link(
        path: "\(path)/links/\(name)", fileName: String(name[name.index(after: dash)...]))
    }
  }

  // MARK: - Facts

  /// Notes a fact about an archive, with a text.
  ///
  /// - Parameter isFirst: Whether to fail if the fact is already noted.
  /// - Returns: Whether this call noted the fact.
  @discardableResult
  package func note(
    _ fact: Fact, _ archive: String, _ text: String = "", isFirst: Bool = false
  ) -> Bool {
    let file = open(
      place(fact, archive), O_WRONLY | O_CREAT | (isFirst ? O_EXCL : O_TRUNC), 0o600)
    guard file >= 0 else { return false }
    var text = text
    _ = text.withUTF8 { write(file, $0.baseAddress, $0.count) }
    close(file)
    return true
  }

  /// Takes back what was noted.
  package func forget(_ fact: Fact, _ archive: String) { unlink(place(fact, archive)) }

  /// The archives about which a fact is noted.
  package func all(_ fact: Fact) -> [String] { Self.names("\(path)/\(fact.rawValue)") }

  /// What was noted with a fact; nil if nothing was.
  package func text(_ fact: Fact, _ archive: String) -> String? {
    let file = open(place(fact, archive), O_RDONLY)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = read(file, &bytes, bytes.count)
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
  }

  private func place(_ fact: Fact, _ archive: String) -> String {
    "\(path)/\(fact.rawValue)/\(archive)"
  }

  private static func names(_ path: String) -> [String] {
    guard let directory = opendir(path) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if !name.hasPrefix(".") { names.append(name) }
    }
    return names.sorted()
  }

  private static func inode(_ path: String) -> UInt64? {
    var status = stat()
    return lstat(path, &status) == 0 ? UInt64(status.st_ino) : nil
  }
}
