import MMLogReceiving
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

/// A directory for received archives, and a client that sends archives to it.
final class Sending: Sendable {
  let folder = TemporaryDirectory()
  let archives: ReceivedArchives

  /// - Parameter path: The directory; nil for a new one.
  init(at path: String? = nil, _ change: (inout ReceiverLimits) -> Void = { _ in }) throws {
    var limits = ReceiverLimits()
    limits.freeSpace = .bytes(0)
    change(&limits)
    archives = try ReceivedArchives(at: path ?? folder("received"), limits)
  }

  /// Sends bytes in pieces of `piece` bytes.
  @discardableResult
  func send(
    _ bytes: ArraySlice<UInt8>, as name: String, client: String = "anyone", piece: Int = 1000,
    _ fields: [String: String] = [:]
  ) throws -> Receipt {
    var fields = fields
    if fields["content-range"] == nil { fields["content-length"] = "\(bytes.count)" }
    let request = try ReceiverRequest(method: "PUT", path: "/archives/\(name)") { fields[$0] }
    switch try archives.begin(request, of: name, client: client) {
    case .done(let receipt): return receipt
    case .upload(let upload):
      Self.append(bytes, piece, to: upload)
      return try upload.finish()
    }
  }

  /// Sends the beginning of an archive, and closes the connection.
  func sendBeginning(
    of bytes: [UInt8], count: Int, as name: String, client: String = "anyone", piece: Int = 1000
  ) throws {
    let request = try ReceiverRequest(method: "PUT", path: "/archives/\(name)") {
      $0 == "content-length" ? "\(bytes.count)" : nil
    }
    guard case .upload(let upload) = try archives.begin(request, of: name, client: client) else {
      throw Failure("\(name) is there already")
    }
    Self.append(bytes[..<count], piece, to: upload)
    upload.suspend()
  }

  /// Sends the rest of an archive.
  func sendRest(of bytes: [UInt8], from start: Int, as name: String) throws -> Receipt {
    let range = "bytes \(start)-\(bytes.count - 1)/\(bytes.count)"
    return try send(bytes[start...], as: name, ["content-range": range])
  }

  private static func append(_ bytes: ArraySlice<UInt8>, _ piece: Int, to upload: Upload) {
    var rest = bytes
    while !rest.isEmpty {
      rest.prefix(piece).withUnsafeBytes { _ = upload.append($0) }
      rest = rest.dropFirst(piece)
    }
  }

  /// The stored files, and the files of unfinished uploads.
  var files: [String] { Self.files(in: archives.path).sorted() }

  static func files(in path: String) -> [String] { files(in: path, "") }

  private static func files(in path: String, _ prefix: String) -> [String] {
    ((try? Folder.names(path)) ?? []).flatMap { name -> [String] in
      let status = try? File.status(ofPath: "\(path)/\(name)")
      return status?.isDirectory == true
        ? files(in: "\(path)/\(name)", "\(prefix)\(name)/") : ["\(prefix)\(name)"]
    }
  }
}
