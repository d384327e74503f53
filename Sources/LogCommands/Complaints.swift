import CommandLineTool

/// Lines on standard error about what is missing: each once, and up to a maximum. A log may have
/// thousands of corrupted places.
package final class Complaints {
  /// The maximum number of lines; of further ones, only the number is printed. While a log is
  /// followed, all lines are printed, and this is how many of them are remembered.
  package static let usualMaximum = 50

  private let maximum: Int
  private let print: (String) -> Void
  /// The hashes of all sentences. Files that are read more than once would have the same sentences
  /// again.
  private var said: Set<Int> = []
  /// Whether there is no end at which further lines could be counted.
  package var isEndless = false

  /// - Parameters:
  ///   - maximum: The maximum number of lines.
  ///   - print: Prints a sentence.
  package init(maximum: Int = usualMaximum, _ print: @escaping (String) -> Void) {
    (self.maximum, self.print) = (maximum, print)
  }

  /// Returns the sentence if it is to be printed; nil if it is only counted.
  package func counted(_ sentence: String) -> String? {
    if isEndless, said.count == maximum { said = [] }
    guard said.insert(sentence.hashValue).inserted else { return nil }
    return said.count <= maximum ? sentence : nil
  }

  /// Prints a sentence, or only counts it.
  package func add(_ sentence: String) { if let new = counted(sentence) { print(new) } }

  /// Prints how many sentences were only counted.
  ///
  /// - Parameter verify: A command that prints all of them.
  package func end(verify: String = "mmlog-decode verify") {
    let left = said.count - maximum
    guard left > 0 else { return }
    print(
      "\(left) more such lines, \(said.count) in all; \(verify) has each corrupted place and each "
        + "loss")
  }
}
