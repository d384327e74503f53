/// A binary heap of elements to be merged. The element with the smallest key is at the front; of
/// equal keys, the one with the smallest order.
///
/// Inlinable: other modules compile it for their keys and elements, which makes it several times
/// faster.
package struct MergeHeap<Key: Comparable & BitwiseCopyable, Element> {
  /// The place of an element among the others.
  package struct Place: BitwiseCopyable {
    package let key: Key
    package let order: Int
    /// The index of the element that has the place. Elements stay where they are, so that no
    /// reference is counted while places move.
    @usableFromInline let slot: Int

    @inlinable
    package init(key: Key, order: Int, slot: Int = 0) {
      (self.key, self.order, self.slot) = (key, order, slot)
    }

    @inlinable
    package static func < (a: Place, b: Place) -> Bool {
      a.key < b.key || (a.key == b.key && a.order < b.order)
    }
  }

  @usableFromInline var places: [Place] = []
  @usableFromInline var slots: [Element?] = []
  @usableFromInline var freeSlots: [Int] = []

  @inlinable package init() {}

  /// The place of the front; nil if the heap is empty.
  @inlinable package var firstPlace: Place? { places.first }

  /// - Complexity: O(log n), as for taking out and exchanging.
  @inlinable
  package mutating func insert(_ element: Element, key: Key, order: Int) {
    let slot = freeSlots.popLast() ?? slots.count
    if slot == slots.count { slots.append(element) } else { slots[slot] = element }
    let place = Place(key: key, order: order, slot: slot)
    places.append(place)
    var index = places.count - 1
    while index > 0, place < places[(index - 1) / 2] {
      places[index] = places[(index - 1) / 2]
      index = (index - 1) / 2
    }
    places[index] = place
  }

  /// Takes out the front.
  @inlinable
  package mutating func popFirst() -> (element: Element, order: Int)? {
    guard let first = places.first, let last = places.popLast(),
      let element = slots[first.slot].take()
    else { return nil }
    freeSlots.append(first.slot)
    if !places.isEmpty { sink(last) }
    return (element, first.order)
  }

  /// Puts an element in and takes out the front, which may be that element.
  @inlinable
  package mutating func exchange(
    _ element: Element, key: Key, order: Int
  ) -> (element: Element, order: Int) {
    guard let first = places.first, let front = slots[first.slot],
      first < Place(key: key, order: order)
    else { return (element, order) }
    slots[first.slot] = element
    sink(Place(key: key, order: order, slot: first.slot))
    return (front, first.order)
  }

  /// Takes out all elements for which `isGone` is true.
  ///
  /// - Complexity: O(n log n).
  @inlinable
  package mutating func removeAll(where isGone: (Element) -> Bool) {
    let old = self
    self = MergeHeap()
    for place in old.places {
      guard let element = old.slots[place.slot], !isGone(element) else { continue }
      insert(element, key: place.key, order: place.order)
    }
  }

  /// Replaces the place at the front, and lets the new one sink.
  @inlinable
  mutating func sink(_ place: Place) {
    places.withUnsafeMutableBufferPointer { places in
      var index = 0
      while 2 * index + 1 < places.count {
        var child = 2 * index + 1
        if child + 1 < places.count, places[child + 1] < places[child] { child += 1 }
        guard places[child] < place else { break }
        places[index] = places[child]
        index = child
      }
      places[index] = place
    }
  }
}

extension MergeHeap.Place where Key: FixedWidthInteger {
  /// The greatest key with which an element of `order` still comes before this place.
  @inlinable
  package func lastKey(before order: Int) -> Key {
    order < self.order || key == .min ? key : key - 1
  }
}
