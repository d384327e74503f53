import Foundation
import TestSupport

/// An answer that a test's server is to give.
struct PlannedAnswer: Encodable {
  var status = 200
  var headers: [String: String] = [:]
  var body = Data()
  var fault = ""
}

/// A request that a test's server has received.
struct ReceivedRequest: Decodable {
  let method: String
  let path: String
  let headers: [String: String]
  /// The body after decompression.
  let body: Data
  /// The size of the body as it was sent.
  let size: Int

  var text: String { String(decoding: body, as: UTF8.self) }
}

/// A server on loopback, in a process of its own.
final class TestReceiver {
  private let server: TestServer

  init(_ answers: [PlannedAnswer] = [PlannedAnswer()], options: [String] = []) throws {
    let folder = TemporaryDirectory()
    let lines = try answers.map { String(decoding: try JSONEncoder().encode($0), as: UTF8.self) }
    folder.put("plan", lines.joined(separator: "\n") + "\n")
    server = try TestServer("receiver.py", options, in: folder)
  }

  var folder: TemporaryDirectory { server.folder }
  var port: String { server.port }
  var url: String { server.url }
  var requests: [ReceivedRequest] { get throws { try server.notes("requests") } }

  /// Writes a file into the server's folder.
  func file(_ name: String, _ text: String) throws -> String { folder.put(name, text) }
}
