import Foundation
import MMLog
import MMLogReader
import MMLogTaps
import Testing
import TestSupport

@Suite("Records for syslog")
struct SyslogTests {
  private func sent(
    to receiver: TestReceiver, _ address: Syslog.Address, _ body: (Logger) -> Void
  ) throws -> [UInt8] {
    let test = try TestStore { $0.taps = [LogTap(Syslog(to: address, facility: .local0))] }
    body(test.log)
    try test.store.close()
    return receiver.stop().flatMap(\.bytes)
  }

  /// RFC 5424's grammar.
  private var grammar: Regex<Match> {
    #/<(?<priority>\d+)>1 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z [!-~]{1,255} test (?<process>\d+) test (?:-|\[fields@32473(?: [!-<>-\\^-~]{1,32}="(?:[^"\\\]]|\\["\\\]])*")*\])(?: (?<message>.*))?/#
  }

  private typealias Match = (
    Substring, priority: Substring, process: Substring, message: Substring?
  )

  @Test("a record is a message as RFC 5424 has it, whatever is in it")
  func message() throws {
    let folder = TemporaryDirectory()
    let path = folder("log")
    let receiver = try TestReceiver(path: path)
    let text = String(
      decoding: try sent(to: receiver, .local(path: path)) { log in
        log.error(
          "order \(7, name: "order id")\n<0>1 forged",
          metadata: ["quo\"te=]": "a \"b\" \\ ] c\nd\0e\rf\u{1B}g\u{7F}h\u{9B}i"])
      }, as: UTF8.self)
    let match = try #require(text.wholeMatch(of: grammar), "\(text)")
    #expect(match.priority == "131" && match.process == "\(getpid())")
    #expect(match.message == #"order 7\n<0>1 forged"#)
    #expect(text.contains(#" order_id="7" quo_te__="a \"b\" \\ \] c d e f g h i"]"#))
  }

  @Test("messages are told apart in a stream: by line ends, or by their lengths")
  func streams() throws {
    let folder = TemporaryDirectory()
    let path = folder("log")
    let log = { (log: Logger) in for number in 0..<3 { log.info("number \(number)") } }
    let local = try TestReceiver(path: path, isStream: true)
    let lines = String(
      decoding: try sent(to: local, .localStream(path: path), log), as: UTF8.self)
    #expect(
      lines.split(separator: "\n").compactMap { $0.wholeMatch(of: grammar)?.message }
        == ["number 0", "number 1", "number 2"])
    let host = try TestReceiver(isStream: true)
    var rest = Substring(
      decoding: try sent(to: host, .tcp(host: "127.0.0.1", port: host.port), log), as: UTF8.self)
    for number in 0..<3 {
      let digits = rest.prefix { $0.isNumber }
      rest = rest.dropFirst(digits.count + 1)
      let message = rest.prefix(try #require(Int(digits)))
      #expect(message.wholeMatch(of: grammar)?.message == "number \(number)")
      rest = rest.dropFirst(message.count)
    }
    #expect(rest.isEmpty)
  }

  @Test("a datagram that is too large is sent with its message cut, where a character ends")
  func large() throws {
    let receiver = try TestReceiver(isStream: false)
    let long = String(repeating: "ä", count: 100_000)
    let bytes = try sent(to: receiver, .udp(host: "127.0.0.1", port: receiver.port)) { log in
      log.info("x\(long, privacy: .public)")
    }
    let text = try #require(String(validating: bytes, as: UTF8.self))
    let match = try #require(text.wholeMatch(of: grammar))
    #expect(match.message?.utf8.count == 8191)
  }

  @Test("a message in a stream is cut to what receivers take, and those behind it follow")
  func largeInStream() throws {
    let receiver = try TestReceiver(isStream: true)
    let long = String(repeating: "ä", count: 150_000)
    let bytes = try sent(to: receiver, .tcp(host: "127.0.0.1", port: receiver.port)) { log in
      log.info("x\(long, privacy: .public)")
      log.info("data \(1, name: "one")", metadata: ["long": .string(long)])
      log.info("behind")
    }
    var (rest, messages) = (bytes[...], [Substring]())
    while !rest.isEmpty {
      let digits = rest.prefix { $0 != UInt8(ascii: " ") }
      let size = try #require(Int(String(decoding: digits, as: UTF8.self)))
      #expect(size < 64 << 10)
      rest = rest.dropFirst(digits.count + 1)
      let text = try #require(String(validating: rest.prefix(size), as: UTF8.self))
      messages.append(try #require(text.wholeMatch(of: grammar)?.message))
      rest = rest.dropFirst(size)
    }
    #expect(messages.count == 3 && messages[0].utf8.count == 61_439)
    #expect(messages[1].hasPrefix("data 1") && messages[2] == "behind")
  }

  @Test("that nobody listens is reported of datagrams, too, as far as the kernel says it")
  func nobodyListens() async throws {
    // The port is below those that the system chooses, so that no other process gets it meanwhile.
    let test = try TestStore {
      $0.taps = [LogTap(Syslog(to: .udp(host: "127.0.0.1", port: 1)))]
    }
    var events = test.store.events.makeAsyncIterator()
    for number in 0..<3 { test.log.info("number \(number)") }
    try await test.store.flush(.archive)
    while let event = await events.next() { if case .tapFailed = event { break } }
    try await test.store.close()
  }

  @Test("a receiver of a stream that is started anew gets what comes then")
  func restarted() async throws {
    let folder = TemporaryDirectory()
    let path = folder("log")
    let test = try TestStore { $0.taps = [LogTap(Syslog(to: .localStream(path: path)))] }
    var events = test.store.events.makeAsyncIterator()
    test.log.info("before")
    try await test.store.flush(.archive)
    while let event = await events.next() { if case .tapFailed = event { break } }
    let receiver = try TestReceiver(path: path, isStream: true)
    var missed: UInt64 = 0
    while let event = await events.next() {
      if case .tapResumed(_, let count) = event {
        missed = count
        break
      }
    }
    test.log.info("after")
    try await test.store.close()
    let text = String(decoding: receiver.stop().flatMap(\.bytes), as: UTF8.self)
    // On a busy machine, the first record may be missed: the tap tries a record only for a limited
    // time.
    let earlier = missed == 0 ? "before\n" : LogTap.notice(ofMissing: 1)
    #expect(missed <= 1 && text.contains(earlier) && text.contains("after\n"))
  }
}
