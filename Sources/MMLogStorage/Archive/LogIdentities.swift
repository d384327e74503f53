package import MMLogCrypto
import MMLogSystem

/// Secret keys that open encrypted archives, as `age-keygen` makes them.
///
/// ```swift
/// import MMLogReader
///
/// let identities = try LogIdentities(files: ["operations.key"])
/// let files = LogFiles([.path("/var/log/orders")], identities: identities)
/// for item in LogReader(files) { print(item) }
/// ```
///
/// Readers also open sealed values (`privacy: .sealed`) of any store, if they have identities for
/// them. After values of 65,536 processes that have sealed for others, the values of further
/// processes stay `<sealed>`.
///
/// The memory of the keys is in no core dump, and not swapped out where the system allows that. A
/// copy of the text that they were read from may remain in memory. Any thread.
public struct LogIdentities: Sendable {
  package let all: [Identity]
  /// Opens sealed values; nil: they stay sealed.
  package let slots: OpenedSlots?

  /// Makes no identities: what is encrypted is not read.
  public init() { (all, slots) = ([], nil) }

  package init(_ identities: [Identity]) {
    all = identities
    slots = identities.isEmpty ? nil : OpenedSlots(for: identities)
  }

  /// Reads files with an identity a line; lines that begin with `#` are passed over.
  ///
  /// - Parameter paths: The files' paths.
  /// - Throws: ``LogError`` for a file that cannot be read, or with something else in it. The error
  ///   contains nothing of the file.
  public init(files paths: [String]) throws(LogError) {
    var identities: [Identity] = []
    for path in paths { identities += try Self.read(path) }
    self.init(identities)
  }

  /// A warning about a file of identities, if every user can read it, or if it belongs to another
  /// user.
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
