import MMLog
import MMLogFormat
import MMLogReader
import Testing
import TestSupport

private struct Order: CustomStringConvertible {
  let id: Int
  var description: String { "order #\(id)" }
}

private enum Refusal: Error { case closed(Int) }

/// Notes whether its text was asked for.
private final class Secret: CustomStringConvertible {
  nonisolated(unsafe) static var wasAsked = false
  var description: String {
    Self.wasAsked = true
    return "never-to-be-seen"
  }
}

@Suite("Arguments")
struct ArgumentTests {
  /// The values of the one record that `body` logs.
  private func values(_ body: (Logger) -> Void) throws -> [Value] {
    let test = try TestStore()
    body(test.log)
    let contents = try test.closeAndRead()
    #expect(contents.isClean)
    return try #require(contents.records.first).fields.map(\.value)
  }

  /// Swift keeps up to fifteen bytes in the string itself, unless there was memory for it before.
  @Test("texts of each length are the same, however Swift keeps them")
  func textsOfEachLength() throws {
    let test = try TestStore()
    var texts: [String] = []
    for count in 0...33 {
      for unit in ["a", "é", "水", "🜁", "\0"] where count % unit.utf8.count == 0 {
        let text = String(repeating: unit, count: count / unit.utf8.count)
        var inMemory = ""
        inMemory.reserveCapacity(100)
        inMemory += text
        test.log.info("\(text)|\(inMemory)|\(Optional(text))|\(text[...])")
        test.log.info("fields", metadata: ["a": .string(text), "b": .string(inMemory)])
        texts.append(text)
      }
    }
    let contents = try test.closeAndRead()
    #expect(contents.isClean)
    #expect(
      contents.messages
        == texts.flatMap { ["\($0)|\($0)|\($0)|\($0)", "fields"] })
    let fields = contents.records.map { $0.fields.map(\.value) }.filter { !$0.isEmpty }
    #expect(fields == texts.map { [.string(Array($0.utf8)), .string(Array($0.utf8))] })
  }

  @Test("integers of every width keep their extremes")
  func integers() throws {
    let found = try values { log in
      log.info(
        "\(Int8.min, name: "a")\(Int16.min, name: "b")\(Int32.min, name: "c")\(Int64.min, name: "d")\(Int.max, name: "e")"
      )
    }
    #expect(
      found == [
        .int(-128), .int(-32768), .int(Int64(Int32.min)), .int(.min), .int(Int64(Int.max)),
      ])
    let unsigned = try values { log in
      log.info(
        "\(UInt8.max, name: "a")\(UInt16.max, name: "b")\(UInt32.max, name: "c")\(UInt64.max, name: "d")\(UInt.max, name: "e")"
      )
    }
    #expect(
      unsigned == [
        .uint(255), .uint(65535), .uint(UInt64(UInt32.max)), .uint(.max), .uint(UInt64(UInt.max)),
      ])
    let wide = try values { log in
      log.info(
        "\(Int128.min, name: "a")\(Int128(-1), name: "b")\(UInt128.max, name: "c")\(UInt128(1) << 64, name: "d")"
      )
    }
    #expect(wide == [.int128(.min), .int128(-1), .uint128(.max), .uint128(1 << 64)])
  }

  @Test("an integer of more than 128 bits is recorded as text, as private as it is said to be")
  func wideIntegers() throws {
    let value = WideInteger(high: 12, low: 345)
    let text = "12:345"
    let test = try TestStore()
    let (some, none): (WideInteger?, WideInteger?) = (value, nil)
    test.log.info("\(value, name: "a")|\(some)|\(none)|\(value, align: .right(columns: 8))")
    test.log.info("\(value, privacy: .private)|\(some, privacy: .private)")
    test.log.info("\(value, privacy: .auto)")
    let contents = try test.closeAndRead()
    #expect(contents.isClean)
    #expect(
      contents.messages == ["\(text)|\(text)|nil|  \(text)", "<private>|<private>", text])
    #expect(contents.records[0].fields.map(\.value) == [.string(Array(text.utf8))])
  }

  @Test("floating-point numbers and Booleans keep all their bits")
  func floats() throws {
    let found = try values { log in
      log.info(
        "\(-0.0, name: "a")\(Double.nan, name: "b")\(Double.leastNonzeroMagnitude, name: "c")\(Float.infinity, name: "d")\(Float(0.1), name: "e")\(true, name: "f")\(false, name: "g")"
      )
    }
    #expect(
      found == [
        .double(-0.0), .double(.nan), .double(.leastNonzeroMagnitude), .float(.infinity),
        .float(0.1), .bool(true), .bool(false),
      ])
  }

  @Test("texts of every length around a word, and every kind, come back byte for byte")
  func texts() throws {
    let test = try TestStore()
    let letters = "żółć🦆abcdefghijklmnopqrstuvwxyz0123456789"
    var expected: [String] = []
    for length in 0...letters.count {
      let text = String(letters.prefix(length))
      test.log.info("<\(text)|\(text.dropFirst())|\(text as String?)>")
      expected.append("<\(text)|\(text.dropFirst())|\(text)>")
    }
    test.log.info("\("literal" as StaticString) \("x" as StaticString) \("" as StaticString)")
    expected.append("literal x ")
    let contents = try test.closeAndRead()
    #expect(contents.messages == expected)
    #expect(contents.isClean)
  }

  @Test("bytes are kept as they are, also when they are no text")
  func bytes() throws {
    let all = (0...255).map { UInt8($0) }
    let found = try values { log in
      all.withUnsafeBytes { log.info("\(all, name: "a")\([UInt8](), name: "b")\($0, name: "c")") }
    }
    #expect(found == [.bytes(all), .bytes([]), .bytes(all)])
  }

  @Test("a literal of integers is integers, and bytes are what the program says are bytes")
  func literalsOfIntegers() throws {
    let (byte, flag) = (UInt8(66), true)
    let found = try values { log in
      log.info(
        "\([65, 66], name: "a")\([byte, 67], name: "b")\(flag ? [1] : [], name: "c")\([65] as [UInt8], name: "d")"
      )
    }
    #expect(
      found == [.array([.int(65), .int(66)]), .bytes([66, 67]), .array([.int(1)]), .bytes([65])])
    let test = try TestStore()
    let message: LogMessage = "\([65, 66]) \([byte] + [67])"
    test.log.info(message)
    test.log.info("", metadata: ["a": [65, 66], "b": .value([65, 66]), "c": .bytes([65])])
    let contents = try test.closeAndRead()
    #expect(contents.messages == ["[65, 66] BC", ""])
    let numbers = Value.array([.int(65), .int(66)])
    #expect(contents.records.last?.fields.map(\.value) == [numbers, numbers, .bytes([65])])
  }

  @Test("optionals are their value or null")
  func optionals() throws {
    let found = try values { log in
      log.info(
        "\(Int?.none, name: "a")\(Int?(-5), name: "b")\(Double?.none, name: "c")\(Double?(1.5), name: "d")\(Float?(2), name: "e")\(Bool?.none, name: "f")\(Bool?(true), name: "g")\(String?.none, name: "h")\(String?("s"), name: "i")\(UInt128?.none, name: "j")\(UInt128?(7), name: "k")"
      )
    }
    #expect(
      found == [
        .null, .int(-5), .null, .double(1.5), .float(2), .null, .bool(true), .null,
        .string(Array("s".utf8)), .null, .uint128(7),
      ])
    let others = try values { log in
      log.info("\(Order?.none, name: "a")\(Order?(Order(id: 3)), name: "b")")
    }
    #expect(others == [.null, .string(Array("order #3".utf8))])
  }

  @Test("other values and errors are their description")
  func described() throws {
    let test = try TestStore()
    let numbers = [1, 2]
    test.log.info(
      "\(Order(id: 7)) \(Refusal.closed(2)) \(Refusal.closed(3) as any Error) \(numbers)")
    #expect(try test.closeAndRead().messages == ["order #7 closed(2) closed(3) [1, 2]"])
  }

  @Test("formats and alignments are applied by the reader")
  func formats() throws {
    let test = try TestStore()
    test.log.info(
      "\(255, format: .hex(includePrefix: true))|\(-1 as Int8, format: .hex)|\(5, format: .decimal(minDigits: 3))"
    )
    test.log.info(
      "\(3.14159, format: .fixed(2))|\(7, align: .right(columns: 4))|\("ab", align: .left(columns: 4))|"
    )
    #expect(try test.closeAndRead().messages == ["0xff|ff|005", "3.14|   7|ab  |"])
  }

  @Test("messages with more than eleven arguments are whole")
  func manyArguments() throws {
    let test = try TestStore()
    let v = Array(100..<130)
    for _ in 0..<3 {
      test.log.info(
        "a\(v[0])b\(v[1])c\(v[2])d\(v[3])e\(v[4])f\(v[5])g\(v[6])h\(v[7])i\(v[8])j\(v[9])k\(v[10])l\(v[11])m\(v[12])n\(v[13])o\(v[14])p\(v[15])q\(v[16])r\(v[17])s\(v[18])t\(v[19])u\(v[20])v\(v[21])w\(v[22])x\(v[23])y\(v[24])z"
      )
    }
    let letters = Array("abcdefghijklmnopqrstuvwxyz")
    let expected = (0..<25).map { "\(letters[$0])\(v[$0])" }.joined() + "z"
    #expect(try test.closeAndRead().messages == [expected, expected, expected])
  }

  @Test("messages without arguments, and empty ones, are records")
  func literals() throws {
    let test = try TestStore()
    test.log.info("only text")
    test.log.info("")
    test.log.info("x")
    test.log.info("\("")")
    #expect(try test.closeAndRead().messages == ["only text", "", "x", ""])
  }

  @Test("nothing of a private value reaches the ring or an archive, and its text is not even made")
  func privacy() throws {
    let test = try TestStore { $0.makeTiny() }
    let needle = "needle-" + String(repeating: "q", count: 30)
    let number: UInt64 = 0x1122_3344_5566_7788
    let short = "zqzqzqz"
    test.log.info(
      "\(needle, privacy: .private) \(number, privacy: .private) \(short, privacy: .hash) \(Secret(), privacy: .private) \(Array(needle.utf8), privacy: .private) \(needle as String?, privacy: .hash)"
    )
    let ring = try test.folder.names(ending: ".ring")
    var files = try ring.map { try test.folder.bytes($0) }
    let contents = try test.closeAndRead()
    files += try test.folder.names(ending: ".mmlog").map { try test.folder.bytes($0) }
    #expect(files.count == 2)
    for file in files {
      for text in [needle, short, "never-to-be-seen"] { #expect(!file.contains(Array(text.utf8))) }
      #expect(!file.contains(withUnsafeBytes(of: number) { Array($0) }))
    }
    #expect(!Secret.wasAsked)
    #expect(
      contents.messages.first?.hasPrefix("<private> <private> ") == true, "\(contents.messages)")
  }

  @Test("hashes are equal for equal values and differ for others")
  func hashes() throws {
    let test = try TestStore()
    for user in ["ann", "bob", "ann"] { test.log.info("\(user, name: "user", privacy: .hash)") }
    for user in [7, 8, 7] { test.log.info("\(user, name: "user", privacy: .hash)") }
    let found = try test.closeAndRead().records.map { $0.fields[0].value }
    #expect(found[0] == found[2] && found[0] != found[1])
    #expect(found[3] == found[5] && found[3] != found[4])
    if case .hash = found[0] {} else { Issue.record("not a hash: \(found[0])") }
  }

  @Test("a value's own log calls do not disturb the record that it is for")
  func loggingDescription() throws {
    struct Chatty: CustomStringConvertible {
      let log: Logger
      var description: String {
        log.debug("asked")
        return "chatty"
      }
    }
    let test = try TestStore()
    test.log.info("a \(1) \(Chatty(log: test.log)) \(2)", metadata: ["k": .stringConvertible(7)])
    let contents = try test.closeAndRead()
    #expect(contents.messages == ["asked", "a 1 chatty 2"])
  }
}
