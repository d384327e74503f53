import Testing

@testable import CommandLineTool

@Suite struct ParserTests {
  @Test(
    "a value may be given in many ways",
    arguments: [
      ["--name", "a"], ["--name=a"], ["-n", "a"], ["-na"], ["-n=a"], ["-qna"], ["-qn", "a"],
      ["-q", "-F", "-n", "a"], ["--quiet", "--name", "a"],
    ])
  func aValueMayBeGivenInManyWays(arguments: [String]) throws {
    guard case .run(let result) = try sample.parse(arguments) else {
      Issue.record("help instead of a run")
      return
    }
    #expect(result.required(.name) == "a")
    #expect(result.operands == [])
  }

  @Test(
    "a value may be any text",
    arguments: [
      (["--name=a=b"], "a=b"), (["--name="], ""), (["-n", ""], ""), (["-n", "-"], "-"),
      (["-n", "-5"], "-5"), (["--name=--quiet"], "--quiet"), (["-n=-q"], "-q"),
      (["--name", "größe 🙂"], "größe 🙂"),
      (["--name=\u{301}a"], "\u{301}a"), (["-n=\u{301}a"], "\u{301}a"), (["-n", "a\nb"], "a\nb"),
    ])
  func aValueMayBeAnyText(arguments: [String], value: String) throws {
    guard case .run(let result) = try sample.parse(arguments) else {
      Issue.record("help instead of a run")
      return
    }
    #expect(result.value(of: .name) == value)
  }

  @Test("letters of flags may be bundled") func lettersOfFlagsMayBeBundled() throws {
    let result = try #require(try parsed("-qFqn", "a"))
    #expect(result.isSet(.quiet) && result.isSet(.follow))
  }

  @Test("options and operands may be mixed") func optionsAndOperandsMayBeMixed() throws {
    let result = try #require(try parsed("one", "-n", "a", "-", "-q"))
    #expect(result.operands == ["one", "-"])
    #expect(result.isSet(.quiet))
  }

  @Test("after two dashes nothing is an option") func afterTwoDashesNothingIsAnOption() throws {
    let result = try #require(try parsed("-n", "a", "--", "--quiet", "--"))
    #expect(result.operands == ["--quiet", "--"])
    #expect(!result.isSet(.quiet))
  }

  @Test("a repeatable option keeps its order") func aRepeatableOptionKeepsItsOrder() throws {
    let result = try #require(try parsed("--label", "b", "-na", "--label=a", "--label", "b"))
    #expect(result.values(of: .label) == ["b", "a", "b"])
  }

  @Test("an option that is not given has its default")
  func anOptionThatIsNotGivenHasItsDefault() throws {
    let result = try #require(try parsed("-na"))
    #expect(result.required(.format) == "text")
    #expect(!result.isSet(.format))
    #expect(result.value(of: .count) == nil)
    #expect(result.values(of: .label) == [])
  }

  @Test(
    "help needs nothing else",
    arguments: [["--help"], ["-h"], ["-qh"], ["x", "y", "--help", "--nonsense"]])
  func helpNeedsNothingElse(arguments: [String]) throws {
    guard case .help = try sample.parse(arguments) else {
      Issue.record("no help")
      return
    }
  }

  @Test("the version needs nothing else") func theVersionNeedsNothingElse() throws {
    guard case .version = try sample.parse(["--version", "--nonsense"]) else {
      Issue.record("no version")
      return
    }
  }

  @Test("a value is made into what it stands for") func aValueIsMadeIntoWhatItStandsFor() throws {
    let result = try #require(try parsed("-na", "-c", "12"))
    #expect(try result.integer(of: .count, in: 1...12) == 12)
    #expect(try result.value(of: .count, expected: "two letters") { $0.count } == 2)
    #expect(try #require(try parsed("-na")).integer(of: .count, in: 1...12) == nil)
  }
}
