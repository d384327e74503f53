import MMLog
import MMLogReader
import Testing

/// Texts whose file, line and function are known at run time only.
@Suite struct FacadeTests {
  @Test("a facade's records have the file, line and function that it was given at run time")
  func recordsHaveTheirPlace() throws {
    let test = try TestStore()
    var places = (1...3).map { line in
      Logger.SourceLocation(
        file: "/scripts/\(line % 2).js", function: "f\(line)", line: UInt32(line))
    }
    places.append(Logger.SourceLocation(file: "", function: "", line: 0))
    places.append(Logger.SourceLocation(file: "ä\n\0", function: "", line: .max))
    for round in 0..<2 {
      for place in places {
        test.log.log(
          level: .notice, text: "\(round) \(place.line)", metadata: ["round": .int(Int64(round))],
          at: place)
      }
    }
    let contents = try test.closeAndRead()
    #expect(contents.isClean)
    let expected = places + places
    #expect(contents.records.map(\.file) == expected.map(\.file))
    #expect(contents.records.map(\.function) == expected.map(\.function))
    #expect(contents.records.map(\.line) == expected.map { Int($0.line) })
    #expect(contents.messages == (0..<2).flatMap { round in places.map { "\(round) \($0.line)" } })
    #expect(
      contents.records.allSatisfy { $0.fields.map(\.name) == ["round"] && $0.level == .notice })
  }

  @Test("a facade's text is not evaluated whose level is off") func levelOff() throws {
    let test = try TestStore()
    test.log.level = .error
    func never() -> String {
      Issue.record("evaluated")
      return ""
    }
    let place = Logger.SourceLocation(file: "f", function: "g", line: 1)
    test.log.log(level: .info, text: never(), metadata: ["key": .string(never())], at: place)
    #expect(try test.closeAndRead().messages.isEmpty)
  }

  @Test(
    "names that a client chooses do not share a call site",
    arguments: [
      // Without a key, both have one hash.
      ("GET /orders/confirm/payment", "GET /aaaz5jv7MgWbk!866CAent"),
      ("f_G/y3Q0ofi24xp", "JQNz/yhzcQ3RCu-"),
    ])
  func chosenNames(first: String, second: String) throws {
    let test = try TestStore()
    let place = Logger.SourceLocation(file: "Server.swift", function: "serve()", line: 1)
    for name in [first, second] {
      // Not a literal: literals are hashed by their addresses.
      let name = String(decoding: Array(name.utf8), as: UTF8.self)
      _ = test.log.begin(name: name, in: nil, level: .info, metadata: [:], at: place)
    }
    #expect(try test.closeAndRead().messages == [first, second])
  }

  @Test("more places than the dictionary has room for are kept, in the records")
  func moreThanTheDictionaryHasRoomFor() throws {
    let test = try TestStore {
      $0.makeTiny()
      $0.ringSize = 4 << 20
    }
    for number in 0..<500 {
      let place = Logger.SourceLocation(
        file: "file \(number)", function: "function", line: UInt32(number))
      test.log.log(level: .info, text: "text", at: place)
    }
    let contents = try test.closeAndRead()
    #expect(contents.isClean)
    #expect(contents.records.map(\.file) == (0..<500).map { "file \($0)" })
  }
}
