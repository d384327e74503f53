package import MMLogCrypto
import MMLogFormat
import MMLogSystem

/// Who reads encrypted archives: secret keys, as `age-keygen` makes them.
///
/// ```swift
/// import MMLogReader
///
/// let identities = try LogIdentities(files: ["operations.key"])
/// let files = LogFiles([.path("/var/log/orders")], identities: identities)
/// for item in LogReader(files) { print(item) }
/// ```
///
/// Single values of any store (`privacy: .sealed`) are opened, too, by readers that have identities
/// for them. After those of 65,536 processes that have sealed for others, values of further
/// processes stay `<sealed>`.
///
/// The memory of the keys is in no core dump, and not swapped out where the system allows that. Of
/// the text that they were read from, a copy may remain in memory. Any thread.
public struct LogIdentities: Sendable {
  package let all: [Identity]
  /// Opens single values; nil: nobody does.
  package let slots: OpenedSlots?

  /// Nobody: what is encrypted is not read.
  public init() { (all, slots) = ([], nil) }

  package init(_ identities: [Identity]) {
    all = identities
    slots = identities.isEmpty ? nil : OpenedSlots(for: identities)
  }

  /// Reads files with an identity a line; lines that begin with `#` are passed over.
  ///
  /// - Parameter paths: The files' paths.
  /// - Throws: ``LogError`` for a file that cannot be read, or with something else in it. The error
  ///   has nothing of what the file has.
  public init(files paths: [String]) throws(LogError) {
    var identities: [Identity] = []
    for path in paths { identities += try Self.read(path) }
    self.init(identities)
  }

  /// What to warn of about a file of identities: that every user can read it, or whose it is.
  package static func warning(ofFile path: String) -> String? {
    guard let status = try? File.status(ofPath: path), status.isRegularFile else { return nil }
    if let openness = status.openness(path) { return openness }
    if [0, CurrentProcess.effectiveUserID].contains(status.owner) { return nil }
    return "\(path) belongs to user \(status.owner), who can read it and replace it"
  }

  private static let largestFile = 1 << 20

  private static func read(_ path: String) throws(LogError) -> [Identity] {
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: largestFile + 1, alignment: 1)
    defer {
      SecretMemory.erase(bytes)
      bytes.deallocate()
    }
    let count = try explaining("Reading the identities failed") { () throws(SystemError) in
      try File.openFollowingLinks(path).readFully(into: bytes)
    }
    if count > largestFile {
      throw LogError(
        .invalidConfiguration, "\(path) is larger than \(largestFile) bytes", path: path)
    }
    do {
      return try Identity.all(in: String(decoding: bytes[..<count], as: UTF8.self))
    } catch {
      throw LogError(
        error == .missingLibrary ? .unsupported : .invalidConfiguration,
        "\(path) cannot be used as identities: \(error)", path: path, cause: error)
    }
  }
}
