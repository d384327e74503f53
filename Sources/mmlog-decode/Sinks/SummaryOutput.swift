import CommandLineTool
import MMLogReader

/// Prints a summary of all items, when there are no more: what fills the log, the number of records
/// over time, or a page for a browser.
final class SummaryOutput<Summary>: ItemSink {
  private var summary: Summary
  private let target: any OutputTarget
  private let add: (inout Summary, LogReader.Item) -> Void
  private let addUnreadable: (inout Summary, LogError) -> Void
  private let print: (inout Summary, inout TextBuffer) -> Void
  private let isNothing: (Summary) -> Bool
  private(set) var isEmpty = false

  /// - Parameters:
  ///   - add: Adds an item.
  ///   - addUnreadable: Adds a file that could not be read.
  ///   - print: Writes the whole summary, once.
  ///   - isNothing: Whether nothing was printed.
  init(
    _ summary: Summary, to target: any OutputTarget,
    add: @escaping (inout Summary, LogReader.Item) -> Void,
    addUnreadable: @escaping (inout Summary, LogError) -> Void = { _, _ in },
    print: @escaping (inout Summary, inout TextBuffer) -> Void,
    isNothing: @escaping (Summary) -> Bool = { _ in false }
  ) {
    self.summary = summary
    self.target = target
    self.add = add
    self.addUnreadable = addUnreadable
    self.print = print
    self.isNothing = isNothing
  }

  var hasReader: Bool { target.hasReader }

  func take(_ item: LogReader.Item) throws { add(&summary, item) }

  func take(unreadable error: LogError) throws { addUnreadable(&summary, error) }

  func finish() throws {
    var buffer = TextBuffer()
    print(&summary, &buffer)
    isEmpty = isNothing(summary)
    try buffer.withUnsafeBytes { try target.append($0.bytes) }
    try target.finish()
  }

  func sync() throws { try target.sync() }

  // A file that was not finished does not exist.
  var isSummary: Bool { target is StandardOutput }
}
