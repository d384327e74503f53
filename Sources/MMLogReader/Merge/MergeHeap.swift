/// A binary heap of things to be merged: the one with the least key is at the front, and of equal
/// ones that with the least order.
struct MergeHeap<Key: Comparable, Element> {
  struct Place {
    let key: Key
    let order: Int

    static func < (a: Place, b: Place) -> Bool {
      a.key < b.key || (a.key == b.key && a.order < b.order)
    }
  }

  private var places: [Place] = []
  /// Beside their places, so that these are compared without touching what is merged.
  private var elements: [Element] = []

  var isEmpty: Bool { places.isEmpty }

  /// Where the front stands; nil if the heap is empty.
  var firstPlace: Place? { places.first }

  /// - Complexity: O(log n), as all that changes the heap.
  mutating func insert(_ element: Element, key: Key, order: Int) {
    places.append(Place(key: key, order: order))
    elements.append(element)
    var index = places.count - 1
    while index > 0, places[index] < places[(index - 1) / 2] {
      swap(index, (index - 1) / 2)
      index = (index - 1) / 2
    }
  }

  /// Takes out the front.
  mutating func popFirst() -> (element: Element, order: Int)? {
    if places.isEmpty { return nil }
    swap(0, places.count - 1)
    let place = places.removeLast()
    let element = elements.removeLast()
    sink()
    return (element, place.order)
  }

  private mutating func sink() {
    var index = 0
    while 2 * index + 1 < places.count {
      var child = 2 * index + 1
      if child + 1 < places.count, places[child + 1] < places[child] { child += 1 }
      guard places[child] < places[index] else { return }
      swap(index, child)
      index = child
    }
  }

  private mutating func swap(_ a: Int, _ b: Int) {
    places.swapAt(a, b)
    elements.swapAt(a, b)
  }
}

extension MergeHeap.Place where Key: FixedWidthInteger {
  /// The greatest key with which something of another order is still before this.
  func lastKey(before order: Int) -> Key {
    order < self.order || key == .min ? key : key - 1
  }
}
