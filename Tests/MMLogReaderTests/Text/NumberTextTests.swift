import Foundation
import MMLogFormat
import MMLogSystem
import TestSupport
import Testing

@testable import MMLogReader

/// Numbers are written without the C library where that is faster. The result must be the same.
@Suite struct NumberTextTests {
  private func text(_ body: (inout TextBuffer) -> Void) -> String {
    var buffer = TextBuffer()
    body(&buffer)
    return buffer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  /// Numbers of every size, and numbers as people write them.
  private func numbers() -> [Double] {
    var generator = SeededGenerator(seed: 11)
    var numbers: [Double] = [
      0, -0.0, 0.5, 1.5, 2.5, 0.125, 0.375, 1e-3, 1e-4, 9.9999, 99999.99995, 1e10, 1e15, 1e16,
      0x1p52, 0x1p53, 0x1p-60, 0x1p-61, .leastNonzeroMagnitude, .greatestFiniteMagnitude, .pi,
      0.1 + 0.2, 4.35, 1.005, 2.675, 0.00005, 123456.00005, .nan, .infinity,
    ]
    for _ in 0..<4000 {
      numbers.append(Double(bitPattern: generator.next()))
      let places = Double([1, 10, 100, 10_000, 100_000].randomElement(using: &generator) ?? 1)
      numbers.append(Double(Int.random(in: -1_000_000...1_000_000, using: &generator)) / places)
      numbers.append(Double.random(in: -1e12...1e12, using: &generator))
    }
    return numbers
  }

  @Test("the shortest text is what swift describes") func theShortestTextIsWhatSwiftDescribes() {
    for number in numbers() {
      #expect(text { $0.append(shortest: number) } == number.description)
    }
  }

  @Test("fixed digits are those of c") func fixedDigitsAreThoseOfC() {
    for number in numbers() where number.isFinite {
      for precision in [0, 1, 2, 6, 9, 10] {
        let style = ValueStyle(5 | UInt64(precision) << 8, width: 0)
        #expect(
          text { $0.append(number, style, plain: "") } == String(format: "%.*f", precision, number),
          "\(number), \(precision) digits")
      }
    }
  }

  @Test("integers are what swift describes") func integersAreWhatSwiftDescribes() {
    var generator = SeededGenerator(seed: 12)
    var numbers: [Int64] = [0, 9, 10, 99, 100, 101, .min, .max, -1]
    for shift in 0..<64 { numbers.append(Int64(truncatingIfNeeded: generator.next() >> shift)) }
    for number in numbers {
      #expect(text { $0.append(decimal: number) } == number.description)
      #expect(
        text { $0.append(decimal: UInt64(bitPattern: number)) } == "\(UInt64(bitPattern: number))")
    }
    #expect(text { $0.append(decimal: UInt64(7), minimum: 9) } == "000000007")
  }

  /// Compares the fast scan by words with the exact scan by bytes, at every place of a word.
  @Test("every byte is escaped wherever it stands") func everyByteIsEscapedWhereverItStands() {
    for byte in UInt8(0)...255 {
      for place in 0..<18 {
        var bytes = [UInt8](repeating: 0x61, count: 18)
        bytes[place] = byte
        let isPlain = byte >= 0x20 && byte < 0x7F
        for form in [TextForm.plain, .quoted, .csv, .json] {
          let result = text { buffer in bytes.withUnsafeBytes { _ = buffer.append($0, form) } }
          let isEscaped =
            switch byte {
            case 0x22: form != .plain
            case 0x5C: form == .quoted || form == .json
            default: !isPlain
            }
          #expect((result != String(decoding: bytes, as: UTF8.self)) == isEscaped || byte >= 0x80)
          #expect(
            result.unicodeScalars.allSatisfy { !isUnsafeToShow($0.value) }, "\(byte), \(form)")
        }
      }
    }
  }

  @Test("templates that are wrong say what would be right")
  func templatesThatAreWrongSayWhatWouldBeRight() {
    let cases = [
      ("{time", "a '{' has no '}'"), ("a}b", "a '}' has no '{'"), ("{tme}", "there is no '{tme}'"),
      ("{level:x}", "'x' is no width"), ("{level:0}", "'0' is no width"),
      ("{level:+8}", "'+8' is no width"),
      ("a\\q", "after a backslash"),
      ("{}", "there is no '{}'"), ("{fields.}", "there is no '{fields.}'"),
      ("\\", "after a backslash"),
    ]
    for (template, text) in cases {
      let error = #expect(throws: TextTemplate.Invalid.self) { try TextTemplate(template) }
      #expect(error?.description.contains(text) == true, "\(template): \(error?.description ?? "")")
    }
  }
}
