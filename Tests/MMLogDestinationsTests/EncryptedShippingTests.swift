#if Encryption
  import MMLog
  import MMLogStorage
  import MMLogSystem
  import TestSupport
  import Testing

  /// `mmlog-ship` with records that are encrypted for a recipient.
  @Suite("mmlog-ship, encrypted records") struct EncryptedShippingTests {
    private let folder = TemporaryDirectory()
    private let server: TestReceiver

    init() throws {
      server = try TestReceiver()
      let key = try #require(PipedProgram.output(of: ["age-keygen"]), "age is missing")
      let identity = folder.put("identity", key)
      let name = try #require(PipedProgram.output(of: ["age-keygen", "-y", identity]))
      var configuration = LogStore.Configuration()
      configuration.recipients = [try Recipient(String(name.prefix { $0 != "\n" }))]
      try log(10, of: "encrypted", configuration)
      try log(1, of: "clear", LogStore.Configuration())
    }

    private func log(
      _ count: Int, of name: String, _ configuration: LogStore.Configuration
    ) throws {
      let store = try LogStore(
        directory: folder("logs"), name: name, configuration: configuration)
      for number in 0..<count { store.logger(label: "orders").info("record \(number)") }
      try store.close()
    }

    /// - Returns: The status, and all printed text.
    private func ship(_ arguments: String...) throws -> (status: Ending, said: String) {
      try ship(arguments)
    }

    private func ship(_ arguments: [String]) throws -> (status: Ending, said: String) {
      let program = try ChildProcess(
        ChildProcess.path(of: "mmlog-ship"), arguments, output: folder("said"))
      return (program.wait(), program.complaints)
    }

    private var lineCount: Int {
      get throws { try server.requests.reduce(0) { $0 + $1.text.split(separator: "\n").count } }
    }

    @Test("without a key, encrypted records wait and are said, and others are sent")
    func withoutKey() throws {
      let logs = folder("logs")
      for option in ["--check", "--once"] {
        let result = try ship(option, "--as", "x", "--to", server.url, logs)
        #expect(result.status == .exited(1) && result.said.contains("--identity"), "\(option)")
      }
      #expect(try lineCount == 1)
      let status = try ship("status", logs)
      #expect(status.status == .exited(1) && status.said.contains("encrypted"), "\(status.said)")
      let balance = try ship("reconcile", "--as", "x", "--to", server.url, logs)
      #expect(balance.status == .exited(1) && balance.said.contains("encrypted"))
    }

    @Test("with a key, records that were waiting are sent decrypted", arguments: [false, true])
    func withKey(isInConfiguration: Bool) throws {
      let logs = folder("logs")
      _ = try ship("--once", "--as", "x", "--to", server.url, logs)
      let configuration = folder.put(
        "ship.conf",
        """
        [destination x]
        url = \(server.url)
        [directory \(logs)]
        to = x
        identity = \(folder("identity"))
        """)
      let options =
        isInConfiguration
        ? ["--config", configuration]
        : ["--as", "x", "--to", server.url, "--identity", folder("identity"), logs]
      let result = try ship(["--once"] + options)
      #expect(result.status == .success, "\(result.said)")
      #expect(try lineCount == 11)
      #expect(try server.requests.contains { $0.text.contains("record 9") })
      let balance = try ship(["reconcile"] + options)
      #expect(balance.status == .success && balance.said.contains("10 acknowledged"))
      #expect(try ship("status", logs, "--identity", folder("identity")).status == .success)
    }

    @Test("an identity opens sealed values of its own directory alone, whatever else is shipped")
    func eachDirectoryHasItsIdentity() async throws {
      let other = TemporaryDirectory()
      let values = ["first": folder("identity"), "second": other.put("identity", try key())]
      for (name, identity) in values {
        let recipient = try recipient(of: identity)
        let directory = folder(name)
        // Recipients of sealed values belong to a process, so each store has a process of its own.
        await #expect(processExitsWith: .success) {
          [name = name as String, recipient = recipient as String, directory = directory as String]
          in
          try Logger.sealValues(for: [Recipient(recipient)])
          let store = try LogStore(directory: directory, name: "orders")
          store.logger(label: "l").info(
            "a \("SEALED \(name)", privacy: .sealed)",
            metadata: ["user": .value("SEALED \(name)", privacy: .sealed)])
          try store.close()
        }
      }
      let servers = ["first": server, "second": try TestReceiver(), "neither": try TestReceiver()]
      var text = ""
      for (name, server) in servers { text += "[destination \(name)]\nurl = \(server.url)\n" }
      for (name, identity) in values {
        text += "[directory \(folder(name))]\nto = \(name)\nidentity = \(identity)\n"
        text += "[directory \(folder(name))]\nto = neither\n"
      }
      let result = try ship("--once", "--config", folder.put("ship.conf", text))
      #expect(result.status == .success, "\(result.said)")
      for (name, server) in servers {
        let sent = try server.requests.map(\.text).joined()
        #expect(sent.contains("SEALED first") == (name == "first"), "\(name): \(sent)")
        #expect(sent.contains("SEALED second") == (name == "second"), "\(name): \(sent)")
      }
    }

    @Test("a sealed value that nobody opens is not hashed: it differs each time")
    func hashOfSealed() async throws {
      let (directory, recipient) = (folder("values"), try recipient(of: folder("identity")))
      await #expect(processExitsWith: .success) {
        [recipient = recipient as String, directory = directory as String] in
        try Logger.sealValues(for: [Recipient(recipient)])
        let store = try LogStore(directory: directory, name: "orders")
        for _ in 0..<2 {
          store.logger(label: "l").info("a", metadata: ["user": .value("x", privacy: .sealed)])
        }
        try store.close()
      }
      let options = ["--once", "--as", "x", "--to", server.url, "--set", "hash-field=user"]
      #expect(try ship(options + [directory]).status == .success)
      #expect(try server.requests.allSatisfy { $0.text.contains(#""user":"<sealed>""#) })
      #expect(try lineCount == 2)
    }

    private func key() throws -> String {
      try #require(PipedProgram.output(of: ["age-keygen"]), "age is missing")
    }

    private func recipient(of identity: String) throws -> String {
      let name = try #require(PipedProgram.output(of: ["age-keygen", "-y", identity]))
      return String(name.prefix { $0 != "\n" })
    }

    @Test("what a dead process has left encrypted waits for a key, and is sent with one")
    func deadProcess() throws {
      let left = TemporaryDirectory()
      let name = try #require(
        PipedProgram.output(of: ["age-keygen", "-y", folder("identity")]))
      var configuration = LogStore.Configuration()
      configuration.recipients = [try Recipient(String(name.prefix { $0 != "\n" }))]
      let store = try LogStore(
        directory: folder("living"), name: "third", configuration: configuration)
      store.logger(label: "orders").info("in the ring")
      // These are the files that the process would leave if it were killed now.
      try Folder.copy(folder("living"), to: left.path) { !$0.hasPrefix(".") }
      try store.close()
      let options = ["--orphans", "--as", "x", "--to", server.url, left.path]
      let without = try ship(options)
      #expect(without.status == .exited(1) && without.said.contains("--identity"))
      #expect(try server.requests.isEmpty)
      let with = try ship(["--identity", folder("identity")] + options)
      #expect(with.status == .success, "\(with.said)")
      #expect(try server.requests.contains { $0.text.contains("in the ring") })
    }

    @Test("a file that has no identity is said before anything is sent")
    func noIdentity() throws {
      let result = try ship(
        "--once", "--to", server.url, "--identity", folder.put("none", "hello\n"), folder("logs"))
      #expect(result.status != .success && result.said.contains(folder("none")))
      #expect(try server.requests.isEmpty)
    }
  }
#endif
