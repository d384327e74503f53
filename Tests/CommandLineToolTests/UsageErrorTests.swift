import Testing

@testable import CommandLineTool

@Suite struct UsageErrorTests {
  @Test(
    "each error says what would be right",
    arguments: [
      (["-na", "--fromat", "x"], "there is no option '--fromat'; did you mean '--format'?"),
      (["-na", "--form=x"], "there is no option '--form'; did you mean '--format'?"),
      (["-na", "--folow"], "there is no option '--folow'; did you mean '--follow'?"),
      (["-na", "--xyz"], "there is no option '--xyz'; --help lists those there are"),
      (["-na", "--=x"], "there is no option '--'; --help lists those there are"),
      (["-na", "-x"], "there is no option '-x'; --help lists those there are"),
      (["-na", "-qx"], "there is no option '-x' (in '-qx'); --help lists those there are"),
      (["-format", "text"], "'-format' has one dash too few; did you mean '--format'?"),
      (["-name=a"], "'-name=a' has one dash too few; did you mean '--name=a'?"),
      (["--name"], "option '--name' needs a value: '--name N'"),
      (["-qn"], "option '--name' needs a value: '--name N'"),
      (
        ["--name", "--quiet"],
        "option '--name' needs a value: '--name N'; if the value is '--quiet', write '--name=--quiet'"
      ),
      (
        ["-n", "-q"],
        "option '--name' needs a value: '--name N'; if the value is '-q', write '--name=-q'"
      ),
      (["-na", "--quiet=yes"], "option '--quiet' takes no value; leave '=yes' away"),
      (["-na", "-Fq=yes"], "option '--quiet' takes no value; leave '=yes' away"),
      (["-na", "--name", "b"], "option '--name' is given twice; give it once"),
      (["-q"], "option '--name' is missing; add '--name N'"),
      (["-na", "-f", "jsn"], "'jsn' is not a value of '--format'; did you mean 'json'?"),
      (["-na", "-fxml"], "'xml' is not a value of '--format'; it takes text, json or message"),
      (["-na", "--format="], "'' is not a value of '--format'; it takes text, json or message"),
      (["-na", "1", "2", "3"], "'3' is one PATH too many; give at most 2"),
    ])
  func eachErrorSaysWhatWouldBeRight(arguments: [String], sentence: String) {
    #expect(throws: UsageError(sentence)) { try sample.parse(arguments) }
  }

  @Test("a command without operands takes none") func aCommandWithoutOperandsTakesNone() {
    let bare = Command(name: "bare", description: [], options: [])
    #expect(throws: UsageError("'x' is not an option, and bare takes nothing else")) {
      try bare.parse(["x"])
    }
  }

  @Test(
    "a missing operand is named",
    arguments: [(1, "P is missing; name one"), (3, "P is missing; name 3")])
  func aMissingOperandIsNamed(minimum: Int, sentence: String) {
    let command = Command(
      name: "x", description: [], options: [],
      operands: Operands("P", count: minimum...9, ""))
    #expect(throws: UsageError(sentence)) { try command.parse([]) }
  }

  @Test(
    "a number is within its range", arguments: ["0", "13", "x", "", "1.5", "99999999999999999999"])
  func aNumberIsWithinItsRange(text: String) throws {
    let result = try #require(try parsed("-na", "--count=\(text)"))
    let sentence = "'\(text)' is not a value of '--count'; it takes a number from 1 to 12"
    #expect(throws: UsageError(sentence)) { try result.integer(of: .count, in: 1...12) }
  }

  @Test("a number may have no upper bound") func aNumberMayHaveNoUpperBound() throws {
    let result = try #require(try parsed("-na", "--count=0"))
    let sentence = "'0' is not a value of '--count'; it takes a number not below 1"
    #expect(throws: UsageError(sentence)) { try result.integer(of: .count, in: 1 ... .max) }
  }

  @Test(
    "the name that was meant is suggested",
    arguments: [
      ("--levle", "--level"), ("--lvel", "--level"), ("--levell", "--level"),
      ("--lexel", "--level"),
      ("--le", "--level"), ("--utv", "--utc"), ("--l", nil), ("--x", nil), ("--", nil),
      ("--dog", nil), (String(repeating: "l", count: 5000), nil),
    ])
  func theNameThatWasMeantIsSuggested(text: String, name: String?) {
    #expect(nearest(to: text, among: ["--utc", "--level", "--tz"]) == name)
  }

  @Test("a name of hundreds of letters is not suggested")
  func aNameOfHundredsOfLettersIsNotSuggested() {
    let names = [300, 200].map { "--level" + String(repeating: "l", count: $0) }
    #expect(nearest(to: "--lev", among: names) == names[1])
    #expect(nearest(to: "--lev", among: [names[0]]) == nil)
  }
}
