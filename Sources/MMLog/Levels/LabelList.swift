import CMMLogWriter

/// Labels in the order in which they were made, and by name. Not thread-safe: its owner has a lock.
struct LabelList: RandomAccessCollection {
  typealias Pointer = UnsafeMutablePointer<mmlog_label>
  typealias Label = (name: String, state: Pointer)

  private var labels: [Label] = []
  private var states: [String: Pointer] = [:]

  var startIndex: Int { labels.startIndex }
  var endIndex: Int { labels.endIndex }
  subscript(index: Int) -> Label { labels[index] }

  /// The state of the first label of that name; nil if there is none. O(1).
  subscript(name: String) -> Pointer? { states[name] }

  /// Adds a label at the end. There may be one of that name before it.
  mutating func append(_ label: Label) {
    labels.append(label)
    if states[label.name] == nil { states[label.name] = label.state }
  }
}
