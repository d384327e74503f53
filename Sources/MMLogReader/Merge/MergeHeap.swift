/// A binary heap of things to be merged: the one with the smallest key is at the front, and of
/// equal ones that with the smallest order.
struct MergeHeap<Key: Comparable & BitwiseCopyable, Element> {
  struct Place: BitwiseCopyable {
    let key: Key
    let order: Int

    static func < (a: Place, b: Place) -> Bool {
      a.key < b.key || (a.key == b.key && a.order < b.order)
    }
  }

  /// A place, and where among the elements the one stands that has it: these stay where they are,
  /// so that no reference is counted while places move.
  private struct Entry: BitwiseCopyable {
    let place: Place
    let slot: Int
  }

  private var entries: [Entry] = []
  private var slots: [Element?] = []
  private var freeSlots: [Int] = []

  var isEmpty: Bool { entries.isEmpty }

  /// Where the front stands; nil if the heap is empty.
  var firstPlace: Place? { entries.first?.place }

  /// - Complexity: O(log n), as all that changes the heap.
  mutating func insert(_ element: Element, key: Key, order: Int) {
    let slot = freeSlots.popLast() ?? slots.count
    if slot == slots.count { slots.append(element) } else { slots[slot] = element }
    let entry = Entry(place: Place(key: key, order: order), slot: slot)
    entries.append(entry)
    var index = entries.count - 1
    while index > 0, entry.place < entries[(index - 1) / 2].place {
      entries[index] = entries[(index - 1) / 2]
      index = (index - 1) / 2
    }
    entries[index] = entry
  }

  /// Takes out the front.
  mutating func popFirst() -> (element: Element, order: Int)? {
    guard let first = entries.first, let last = entries.popLast(),
      let element = slots[first.slot].take()
    else { return nil }
    freeSlots.append(first.slot)
    if !entries.isEmpty { sink(last) }
    return (element, first.place.order)
  }

  /// Takes out the front, and puts in what comes after it.
  mutating func replaceFirst(
    by element: Element, key: Key, order: Int
  ) -> (element: Element, order: Int)? {
    guard let first = entries.first, let front = slots[first.slot] else { return nil }
    slots[first.slot] = element
    sink(Entry(place: Place(key: key, order: order), slot: first.slot))
    return (front, first.place.order)
  }

  /// Takes out all elements that `isGone` says so of.
  ///
  /// - Complexity: O(n log n).
  mutating func removeAll(where isGone: (Element) -> Bool) {
    let old = self
    self = MergeHeap()
    for entry in old.entries {
      guard let element = old.slots[entry.slot], !isGone(element) else { continue }
      insert(element, key: entry.place.key, order: entry.place.order)
    }
  }

  /// Puts an entry at the front, in place of the one there, and lets it sink.
  private mutating func sink(_ entry: Entry) {
    entries.withUnsafeMutableBufferPointer { entries in
      var index = 0
      while 2 * index + 1 < entries.count {
        var child = 2 * index + 1
        if child + 1 < entries.count, entries[child + 1].place < entries[child].place { child += 1 }
        guard entries[child].place < entry.place else { break }
        entries[index] = entries[child]
        index = child
      }
      entries[index] = entry
    }
  }
}

extension MergeHeap.Place where Key: FixedWidthInteger {
  /// The greatest key with which something of another order is still before this.
  func lastKey(before order: Int) -> Key {
    order < self.order || key == .min ? key : key - 1
  }
}
