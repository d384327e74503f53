import Foundation
import MMLogSystem
import TestSupport
import Testing

/// A running `mmlog-receive`, and the files that it stores.
final class ReceiverProcess {
  let folder: TemporaryDirectory
  private(set) var process: ChildProcess
  private let arguments: [String]
  private(set) var address = ""

  /// Starts the receiver, and waits until it listens.
  init(
    _ arguments: [String] = [], in folder: TemporaryDirectory = TemporaryDirectory(),
    listen: String = "127.0.0.1:0", keepFree: String = "0"
  ) throws {
    self.folder = folder
    // On a busy machine, a test may not run for minutes. The receiver must not time out then.
    let patience = arguments.contains("--timeout") ? [] : ["--timeout", "86400"]
    self.arguments =
      ["-d", folder("received"), "--listen", listen, "--keep-free", keepFree] + patience + arguments
    process = try Self.start(self.arguments, folder)
    address = try Self.address(process)
  }

  /// Starts the receiver again, after its end.
  func restart() throws {
    process = try Self.start(arguments, folder)
    address = try Self.address(process)
  }

  private static func start(
    _ arguments: [String], _ folder: TemporaryDirectory
  ) throws -> ChildProcess {
    try ChildProcess(
      ChildProcess.path(of: "mmlog-receive"), arguments, errors: folder("errors"))
  }

  private static func address(_ process: ChildProcess) throws -> String {
    try process.wait { process.complaints.contains("listening on ") }
    let start = try #require(process.complaints.range(of: "listening on ")).upperBound
    return String(process.complaints[start...].prefix { $0 != "\n" })
  }

  var port: UInt16 { UInt16(address.split(separator: ":").last ?? "") ?? 0 }

  var log: String { process.complaints }

  /// Ends the receiver as a service manager does.
  func stop() -> Ending {
    process.signal(SIGTERM)
    return process.wait(seconds: 60)
  }

  /// The stored files.
  var files: [String] {
    let names = FileManager.default.enumerator(atPath: folder("received"))?.allObjects ?? []
    return names.compactMap { $0 as? String }.filter { name in
      var isFolder: ObjCBool = false
      let path = folder("received/\(name)")
      return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
        && !isFolder.boolValue
    }.sorted()
  }
}

/// The answer to a client.
struct Response {
  var status = 0
  var fields: [String: String] = [:]
  var body = ""

  /// Reads a response, which may be incomplete.
  init(_ text: String) {
    // Skips the status 100, which is not the final response.
    var text = Substring(text)
    while text.hasPrefix("HTTP/1.1 100"), let end = text.range(of: "\r\n\r\n") {
      text = text[end.upperBound...]
    }
    let parts = text.components(separatedBy: "\r\n\r\n")
    let lines = parts[0].components(separatedBy: "\r\n")
    status = lines[0].split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { continue }
      fields[line[..<colon].lowercased()] = line[line.index(after: colon)...]
        .trimmingCharacters(in: .whitespaces)
    }
    body = parts.dropFirst().joined(separator: "\r\n\r\n")
  }

  /// A member of the JSON object in the body.
  subscript(name: String) -> Any? {
    let object = try? JSONSerialization.jsonObject(with: Data(body.utf8))
    return (object as? [String: Any])?[name]
  }
}

/// A connection that a test controls byte by byte.
final class Wire: Sendable {
  private let descriptor: CInt

  init(port: UInt16) throws {
    // A receiver that another test starts meanwhile must not keep the connection open.
    descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let status = withUnsafePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard status == 0 else { throw Failure("connect: errno \(errno)") }
  }

  deinit { close(descriptor) }

  /// Sends bytes; false if the connection is gone.
  @discardableResult
  func send(_ bytes: some Collection<UInt8>) -> Bool {
    var rest = Array(bytes)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        Foundation.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
      }
      if count <= 0 { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  @discardableResult
  func send(_ text: String) -> Bool { send(Array(text.utf8)) }

  /// Sends the header of a request.
  @discardableResult
  func put(_ name: String, size: Int, _ fields: String...) -> Bool {
    let lines = ["PUT /archives/\(name) HTTP/1.1", "Host: x", "Content-Length: \(size)"] + fields
    return send(lines.joined(separator: "\r\n") + "\r\n\r\n")
  }

  /// Reads until the receiver has answered, or has closed the connection.
  func response() -> Response {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      if count <= 0 { break }
      bytes += buffer[..<count]
      let response = Response(String(decoding: bytes, as: UTF8.self))
      let size = response.fields["content-length"].flatMap { Int($0) }
      if let size, response.status >= 200, response.body.utf8.count >= size { return response }
    }
    return Response(String(decoding: bytes, as: UTF8.self))
  }

  /// Waits until the receiver closes the connection or sends something.
  func waitForEnd() -> String {
    var buffer = [UInt8](repeating: 0, count: 1000)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    return String(decoding: buffer[..<max(0, count)], as: UTF8.self)
  }
}

extension ReceiverProcess {
  func wire() throws -> Wire { try Wire(port: port) }

  /// The receiver's answer about an archive.
  func head(_ name: String) throws -> Response {
    let wire = try wire()
    // GET is used because its answer also has a body.
    wire.send("GET /archives/\(name) HTTP/1.1\r\nHost: x\r\n\r\n")
    return wire.response()
  }

  /// Sends a part of an archive. Repeats that as long as the receiver has not noticed that an
  /// earlier client is gone.
  func send(
    _ bytes: [UInt8], from start: Int = 0, as name: String, _ fields: String...
  ) throws -> Response {
    while true {
      let wire = try wire()
      var lines = [
        "PUT /archives/\(name) HTTP/1.1", "Host: x", "Content-Length: \(bytes.count - start)",
      ]
      if start > 0 {
        lines.append("Content-Range: bytes \(start)-\(bytes.count - 1)/\(bytes.count)")
      }
      wire.send((lines + fields).joined(separator: "\r\n") + "\r\n\r\n")
      wire.send(bytes[start...])
      let response = wire.response()
      if response.status == 409, response.fields["retry-after"] == "5" { continue }
      return response
    }
  }
}

/// Runs a program to its end.
func run(
  _ program: String, _ arguments: [String], in folder: TemporaryDirectory
) throws -> (output: String, errors: String, ending: Ending) {
  let name = UUID().uuidString
  let child = try ChildProcess(
    program, arguments, output: folder("\(name).out"), errors: folder("\(name).err"))
  let ending = child.wait(seconds: 120)
  return (Folder.text(folder("\(name).out")), child.complaints, ending)
}

/// A service manager's socket.
final class DatagramSocket {
  private let descriptor = socket(
    AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)

  init(_ path: String) throws {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let status = withUnsafePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard status == 0 else { throw Failure("bind: errno \(errno)") }
  }

  deinit { close(descriptor) }

  /// Waits for a message.
  func receive() -> String {
    var buffer = [UInt8](repeating: 0, count: 1000)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    return String(decoding: buffer[..<max(0, count)], as: UTF8.self)
  }
}
