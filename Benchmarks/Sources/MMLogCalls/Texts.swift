/// A text that is known at run time only.
public struct Text {
  /// The text.
  public let swift: String
  /// The same for C.
  public let c: UnsafePointer<CChar>
  /// Its bytes.
  public let length: Int
}

/// Texts by number; behind the last text, the first comes again.
///
/// Proof of `@unchecked Sendable`: nothing changes them, and they are never freed.
public struct Texts: @unchecked Sendable {
  private let texts: UnsafeMutablePointer<String>
  private let cTexts: UnsafeMutablePointer<UnsafePointer<CChar>>
  /// A power of two, less one.
  private let mask: Int

  /// So many texts that an archive has forgotten a text by the time it comes again.
  public static let many = 1 << 16
  /// So few texts that they stay in the processor's cache, like a text that was just made.
  public static let few = 1 << 9

  private init(_ texts: [String]) {
    precondition(texts.count.nonzeroBitCount == 1, "the number of texts is no power of two")
    (self.texts, cTexts) = tables(of: texts)
    mask = texts.count - 1
  }

  /// The text with a number.
  @inline(__always)
  public subscript(index: Int) -> Text {
    let place = index & mask
    return Text(swift: texts[place], c: cTexts[place], length: texts[place].utf8.count)
  }

  /// Texts of 100 bytes each: words at random out of a thousand.
  ///
  /// - Parameter length: Another number of bytes.
  public static func words(_ count: Int, length: Int = 100) -> Texts {
    var random = SplitMix64(state: 1)
    let words = (0..<1000).map { _ in word(&random) }
    return Texts(
      (0..<count).map { _ in
        var text = ""
        while text.utf8.count < length { text += words[random.next(below: words.count)] + " " }
        return String(text.prefix(length))
      })
  }

  private static func word(_ random: inout SplitMix64) -> String {
    let letters = Array("etaoinshrdlucmfw")
    return String((0..<2 + random.next(below: 8)).map { _ in letters[random.next(below: 16)] })
  }

  /// The given lines, one after the other, and again from the first.
  public static func lines(_ lines: [String]) -> Texts {
    Texts((0..<many).map { lines[$0 % lines.count] })
  }

  /// Lines as services write them: a few patterns, with values of their own in each line.
  public static func lines(_ count: Int) -> Texts {
    var random = SplitMix64(state: 2)
    return Texts((0..<count).map { line($0, &random) })
  }

  private static func line(_ index: Int, _ random: inout SplitMix64) -> String {
    func two(_ number: Int) -> String { String("0\(number)".suffix(2)) }
    let seconds = index / 40
    let time = "\(two(seconds / 3600 % 24)):\(two(seconds / 60 % 60)):\(two(seconds % 60))"
    let start =
      "2026-03-14 \(time),\(100 + random.next(below: 900)) [worker-\(random.next(below: 16))]"
    let address =
      "10.\(random.next(below: 4)).\(random.next(below: 256)).\(random.next(below: 256))"
    let id = String(random.next(), radix: 16)
    switch random.next(below: 8) {
    case 0...2:
      return
        "\(start) INFO  http.Access: \(address) GET /v1/orders/\(random.next(below: 1_000_000)) "
        + "200 in \(random.next(below: 4000)) us, \(random.next(below: 65_536)) bytes"
    case 3, 4:
      return "\(start) INFO  db.Pool: connection \(random.next(below: 64)) lent to session \(id), "
        + "\(random.next(below: 40)) waiting"
    case 5:
      return "\(start) DEBUG cache.Shard: key user:\(random.next(below: 90_000)):cart missed, "
        + "loaded \(random.next(below: 3000)) bytes from replica-\(random.next(below: 3))"
    case 6:
      return "\(start) WARN  net.Peer: \(address):\(random.next(below: 65_536)) does not answer, "
        + "attempt \(random.next(below: 5)) of 5, next in \(random.next(below: 30)) s"
    default:
      return "\(start) ERROR pay.Gateway: transfer \(id) failed: timeout after "
        + "\(random.next(below: 10_000)) ms (account \(random.next(below: 10_000_000)))"
    }
  }
}
