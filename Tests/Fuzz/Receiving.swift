import Glibc
import MMLogAnalysis
import MMLogReader
import MMLogReceiving
import MMLogStorage
import MMLogSystem
import TestSupport

/// Reads a request: `METHOD PATH`, and fields in the lines behind it. Reads the whole text as
/// tokens, too.
func readRequest(_ bytes: UnsafeRawBufferPointer) {
  let text = String(decoding: bytes, as: UTF8.self)
  let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
  let words = (lines.first ?? "").split(separator: " ", maxSplits: 1)
  var fields: [String: String] = [:]
  for line in lines.dropFirst() {
    let parts = line.split(separator: ":", maxSplits: 1)
    if parts.count == 2 { fields[String(parts[0])] = String(parts[1]) }
  }
  if let tokens = try? Tokens(Array(bytes), path: "tokens") {
    _ = tokens.client(fields["authorization"] ?? text)
  }
  guard words.count == 2,
    let request = try? ReceiverRequest(
      method: String(words[0]), path: String(words[1]), field: { fields[$0] })
  else { return }
  if let range = request.range {
    precondition(range.first >= 0 && range.count > 0, "a part of nothing")
    precondition(range.count <= range.total - range.first, "a part behind the end")
    precondition(request.length == nil || request.length == range.count, "two lengths")
  }
  guard let checksum = request.checksum else { return }
  let again = try? ReceiverRequest(method: "PUT", path: "/archives/x") {
    $0 == "repr-digest" ? ArchiveChecksum.digest(checksum) : nil
  }
  precondition(again?.checksum == checksum, "another checksum")
}

/// Where uploads go.
private let received: ReceivedArchives = {
  do {
    var limits = ReceiverLimits()
    limits.freeSpace = .bytes(0)
    return try ReceivedArchives(at: Folder.temporary(), limits)
  } catch { fatalError("\(error)") }
}()

/// Sends an archive in two requests, cut at a place that two bytes choose. What is stored has to be
/// right, and what is refused has to leave nothing.
func receive(_ cut: Int, _ bytes: [UInt8]) {
  let first = min(cut, bytes.count)
  _ = try? send(bytes, 0..<first)
  let receipt = try? send(bytes, first..<bytes.count)
  guard let receipt, receipt.outcome == .stored else {
    removeUploads()
    return
  }
  let parts = receipt.path.split(separator: "/", omittingEmptySubsequences: false)
  precondition(parts.count == 3 && !parts.contains { $0.hasPrefix(".") || $0.isEmpty }, "a place")
  let path = "\(received.path)/\(receipt.path)"
  precondition((try? Folder.read(path)) == bytes, "other bytes are stored")
  let files = LogFiles([.path(path)])
  precondition(
    files.unreadable.allSatisfy { $0.code == .encrypted }, "what is stored cannot be read")
  precondition(files.verify().allSatisfy(\.corruption.isEmpty), "what is stored is corrupted")
  Folder.remove("\(received.path)/\(parts[0])")
}

private func send(_ bytes: [UInt8], _ part: Range<Int>) throws -> Receipt? {
  if part.isEmpty && !bytes.isEmpty { return nil }
  let range = "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(bytes.count)"
  let request = try ReceiverRequest(method: "PUT", path: "/archives/x") {
    $0 == "content-range" && !bytes.isEmpty ? range : nil
  }
  guard case .upload(let upload) = try received.begin(request, of: "x", client: "c") else {
    return nil
  }
  bytes[part].withUnsafeBytes { _ = upload.append($0) }
  return try upload.finish()
}

/// Sends something that is no archive: the receiver then removes whatever was there of the upload.
private func removeUploads() {
  let nothing = [UInt8](repeating: 0, count: 600)
  _ = try? send(nothing, 0..<600)
}
