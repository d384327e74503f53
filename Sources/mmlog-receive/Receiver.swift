import CommandLineTool
import LogCommands
import MMLogReceiving
import MMLogStorage
import MMLogSystem

/// The program: starts the server, and does what has to be done regularly, until a signal ends it.
struct Receiver {
  private let directory: String
  private let address: ListeningAddress
  private let limits: ReceiverLimits
  private let settings: Server.Settings

  init(_ arguments: Arguments) throws {
    directory = arguments.required(.directory)
    let text = arguments.required(.listen)
    guard let address = ListeningAddress(text) else {
      throw UsageError("'\(text)' is not a value of '--listen'; it takes HOST:PORT or unix:PATH")
    }
    self.address = address
    limits = try arguments.limits()
    settings = try arguments.settings()
  }

  func run() throws -> Program.Status {
    // The signals are blocked before the first thread: all threads leave them to this one.
    StopSignals.block()
    if let tokens = settings.tokens { _ = try Tokens.read(tokens) }
    let archives = try ReceivedArchives(at: directory, limits)
    let socket = try ListeningSocket(address)
    guard socket.isLocal || settings.tokens != nil else {
      throw UsageError(
        "other machines can connect to \(socket.name); add '--tokens FILE'")
    }
    File.raiseOpenLimit()
    let server = try Server(archives, socket, settings)
    if !socket.isLocal, settings.identity == nil {
      command.report("tokens and archives come without TLS; add --tls-certificate and --tls-key")
    }
    let scheme = settings.identity == nil ? "http" : "https"
    command.report("listening on \(scheme)://\(socket.name)")
    ServiceManager.notify("READY=1")
    serve(server, archives)
    ServiceManager.notify("STOPPING=1")
    socket.remove()
    server.stop()
    return .success
  }

  private func serve(_ server: Server, _ archives: ReceivedArchives) {
    var seconds = 0
    while StopSignals.wait(nanoseconds: 1_000_000_000) == nil {
      server.endSlowConnections()
      seconds += 1
      if seconds % 60 != 0 { continue }
      do throws(SystemError) { try archives.removeExpired() } catch { command.report("\(error)") }
    }
  }
}

extension Arguments {
  fileprivate func limits() throws(UsageError) -> ReceiverLimits {
    var limits = ReceiverLimits()
    limits.archive = try size(of: .maxArchive) ?? limits.archive
    limits.client = try size(of: .maxClient)
    limits.total = try size(of: .maxTotal)
    if let space = try value(of: .keepFree, expected: "a size as 1G or 5%", spaceArgument) {
      limits.freeSpace = space
    }
    limits.unfinished = try integer(of: .maxUnfinished, in: 1...100_000) ?? limits.unfinished
    limits.unfinishedAge =
      try value(of: .unfinishedAge, expected: "a time as 12h", durationArgument)
      ?? limits.unfinishedAge
    return limits
  }

  private func size(of option: Option) throws(UsageError) -> Int? {
    try value(of: option, expected: "a size as 500M", sizeArgument)
  }

  fileprivate func settings() throws -> Server.Settings {
    Server.Settings(
      connections: try integer(of: .connections, in: 1...10_000) ?? 64,
      connectionsPerAddress: try integer(of: .connectionsPerAddress, in: 0...10_000) ?? 0,
      timeout: try integer(of: .timeout, in: 1...86_400) ?? 30,
      tokens: value(of: .tokens), identity: try identity())
  }

  private func identity() throws -> (certificate: String, key: String)? {
    switch (value(of: .certificate), value(of: .key)) {
    case (nil, nil): return nil
    case (let certificate?, let key?): return (try contents(certificate), try contents(key))
    default:
      throw UsageError("'--tls-certificate' and '--tls-key' belong together; give both or none")
    }
  }

  private func contents(_ path: String) throws -> String {
    let largest = 1 << 20
    let bytes = try explaining("Reading for TLS failed") { () throws(SystemError) in
      try File.openFollowingLinks(path).bytes(at: 0, count: largest + 1)
    }
    guard bytes.count <= largest else {
      throw LogError(
        .invalidConfiguration,
        "\(path) is larger than \(largest) bytes; name a file of certificates or a key in PEM",
        path: path)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
