/// A binary heap of things to be merged: the one with the least key is at the front, and of equal
/// ones that with the least order.
struct MergeHeap<Key: Comparable, Element> {
  private typealias Entry = (key: Key, order: Int, element: Element)
  private var entries: [Entry] = []

  var isEmpty: Bool { entries.isEmpty }
  /// The front.
  var first: Element? { entries.first?.element }

  /// - Complexity: O(log n), as all that changes the heap.
  mutating func insert(_ element: Element, key: Key, order: Int) {
    entries.append((key, order, element))
    var index = entries.count - 1
    while index > 0, isBefore(index, (index - 1) / 2) {
      entries.swapAt(index, (index - 1) / 2)
      index = (index - 1) / 2
    }
  }

  /// Gives the front another key, which puts it where it then belongs.
  mutating func updateFirst(key: Key) {
    entries[0].key = key
    sink()
  }

  mutating func removeFirst() {
    entries.swapAt(0, entries.count - 1)
    entries.removeLast()
    sink()
  }

  private mutating func sink() {
    var index = 0
    while 2 * index + 1 < entries.count {
      var child = 2 * index + 1
      if child + 1 < entries.count, isBefore(child + 1, child) { child += 1 }
      guard isBefore(child, index) else { return }
      entries.swapAt(index, child)
      index = child
    }
  }

  private func isBefore(_ a: Int, _ b: Int) -> Bool {
    let (a, b) = (entries[a], entries[b])
    return a.key < b.key || (a.key == b.key && a.order < b.order)
  }
}
