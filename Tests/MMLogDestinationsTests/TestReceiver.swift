import Foundation
import MMLogDestinations
import TestSupport

/// What a test's server is to answer.
struct PlannedAnswer: Encodable {
  var status = 200
  var headers: [String: String] = [:]
  var body = Data()
  var fault = ""
}

/// What a test's server got.
struct ReceivedRequest: Decodable {
  let method: String
  let path: String
  let headers: [String: String]
  /// Not compressed any more.
  let body: Data
  /// As it was sent.
  let size: Int

  var text: String { String(decoding: body, as: UTF8.self) }
}

/// A server of its own process, on loopback.
final class TestReceiver {
  let folder = TemporaryDirectory()
  private let server: ChildProcess
  let port: String

  init(_ answers: [PlannedAnswer] = [PlannedAnswer()], options: [String] = []) throws {
    let lines = try answers.map { String(decoding: try JSONEncoder().encode($0), as: UTF8.self) }
    try Data((lines.joined(separator: "\n") + "\n").utf8)
      .write(to: URL(filePath: "\(folder.path)/plan"))
    let script =
      "\(#filePath.split(separator: "/").dropLast().map { "/\($0)" }.joined())/receiver.py"
    server = try ChildProcess(
      "python3", [script, folder.path] + options, output: "\(folder.path)/output")
    let path = "\(folder.path)/port"
    try server.wait { FileManager.default.fileExists(atPath: path) }
    port = try String(contentsOfFile: path, encoding: .utf8)
  }

  var url: String { "http://127.0.0.1:\(port)" }

  var requests: [ReceivedRequest] {
    get throws {
      let path = "\(folder.path)/requests"
      guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return [] }
      return try text.split(separator: "\n").map {
        try JSONDecoder().decode(ReceivedRequest.self, from: Data($0.utf8))
      }
    }
  }

  /// Writes a file beside the server's.
  func file(_ name: String, _ text: String) throws -> String {
    let path = "\(folder.path)/\(name)"
    try Data(text.utf8).write(to: URL(filePath: path))
    return path
  }
}
