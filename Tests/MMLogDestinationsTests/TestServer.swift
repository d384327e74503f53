import Foundation
import MMLogDestinations
import TestSupport
import Testing

/// A server in Python, from the folder `Servers`, with a process and a folder of its own.
final class TestServer {
  let folder: TemporaryDirectory
  let process: ChildProcess
  let port: String

  /// Starts the server, and waits until it is ready.
  ///
  /// - Parameters:
  /// - script: The program; its first argument is the folder.
  /// - arguments: The program's other arguments.
  init(
    _ script: String, _ arguments: [String] = [], in folder: TemporaryDirectory = .init()
  ) throws {
    self.folder = folder
    process = try ChildProcess(
      Python.program, [Python.script(script), folder.path] + arguments, output: folder("output"))
    try process.wait { FileManager.default.fileExists(atPath: folder("port")) }
    port = Folder.text(folder("port"))
  }

  var url: String { "http://127.0.0.1:\(port)" }

  /// The lines of a file that the server has written. It may be writing the last one, which then
  /// has no end.
  func lines(_ name: String) -> [String] {
    Folder.text(folder(name)).split(separator: "\n", omittingEmptySubsequences: false).dropLast()
      .map(String.init)
  }

  /// The lines of JSON in a file that the server has written.
  func notes<Note: Decodable>(_ name: String, as type: Note.Type = Note.self) throws -> [Note] {
    try lines(name).map { try JSONDecoder().decode(Note.self, from: Data($0.utf8)) }
  }
}

/// The current ClickHouse engine, by the module chdb.
struct ClickHouseEngine {
  static let isThere = Python.has("chdb")
  static let missing: Comment = "python3 has no module chdb: Tools/setup --receivers"

  private let server: TestServer
  private let client = HTTPClient(HTTPSettings())

  init() throws { server = try TestServer("clickhouse.py") }

  var url: String { server.url }

  /// The engine's answer to a statement.
  func query(_ statement: String) async throws -> String {
    let answer = try await client.send(
      HTTPRequest("POST", url, body: .bytes(Array(statement.utf8))))
    guard answer.isSuccess else { throw Failure(answer.text) }
    return answer.text
  }
}

/// The Python that tests use, and its modules.
enum Python {
  /// The Python that MMLOG_PYTHON names, or the one that `Tools/setup --receivers` installs, or
  /// any.
  static let program: String = {
    if let path = ProcessInfo.processInfo.environment["MMLOG_PYTHON"] { return path }
    let root = #filePath.split(separator: "/").dropLast(3).map { "/\($0)" }.joined()
    let installed = "\(root)/.build/receivers/bin/python3"
    return FileManager.default.isExecutableFile(atPath: installed) ? installed : "python3"
  }()

  static func script(_ name: String) -> String {
    "\(#filePath.split(separator: "/").dropLast().map { "/\($0)" }.joined())/Servers/\(name)"
  }

  static func has(_ modules: String...) -> Bool {
    let imports = "import \(modules.joined(separator: ", "))"
    return (try? ChildProcess.run(program, ["-c", imports], output: "/dev/null")) != nil
  }
}

/// A program of this machine that tests use if it is installed.
enum Program {
  static func path(_ name: String) -> String? {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    return (folders + ["/usr/sbin", "/usr/bin"]).map { "\($0)/\(name)" }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }
}

/// A port on loopback for a program that cannot report which port it took. While this object lives,
/// only a program that asks for this port by its number can listen there.
final class HeldPort {
  let number: UInt16
  private let descriptor: CInt

  init() throws {
    descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var isReused: CInt = 1
    setsockopt(
      descriptor, SOL_SOCKET, SO_REUSEADDR, &isReused, socklen_t(MemoryLayout<CInt>.size))
    var address = loopback(0)
    let descriptor = descriptor
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, size) == 0 ? getsockname(descriptor, $0, &size) : -1
      }
    }
    self.number = UInt16(bigEndian: address.sin_port)
    guard status == 0 else { throw Failure("no port: errno \(errno)") }
  }

  deinit { close(descriptor) }
}

private func loopback(_ port: UInt16) -> sockaddr_in {
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_port = port.bigEndian
  address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
  return address
}

/// Whether a program listens on the port.
func isListening(_ port: UInt16) -> Bool {
  let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
  defer { close(descriptor) }
  let address = loopback(port)
  return withUnsafePointer(to: address) { address in
    address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
    }
  }
}

/// An authority, and certificates that it has signed: for a server on loopback, and for a client.
struct TestAuthority {
  let folder = TemporaryDirectory()

  init() throws {
    let made = """
      cd '\(folder.path)'
      openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=ca \
        -keyout ca.key -out ca.pem
      for name in server client; do
        openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=$name \
          -keyout $name.key -out $name.csr
        printf 'subjectAltName=IP:127.0.0.1\\n' >$name.ext
        openssl x509 -req -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 \
          -extfile $name.ext -out $name.pem
      done
      """
    try ChildProcess.run("sh", ["-ec", made], output: folder("output"))
  }

  /// The path of `ca.pem`, `server.pem`, `server.key`, `client.pem` or `client.key`.
  func callAsFunction(_ name: String) -> String { folder(name) }

  /// The options that make a server in Python speak TLS.
  ///
  /// - Parameter verifiesClients: Whether a client needs a certificate of this authority.
  func options(verifiesClients: Bool = false) -> [String] {
    let clients = verifiesClients ? self("ca.pem") : "-"
    return ["--tls", self("server.pem"), self("server.key"), clients]
  }
}
