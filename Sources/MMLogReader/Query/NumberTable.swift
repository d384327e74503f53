import MMLogFormat

/// Elements with numbers from 1: in an array, except those whose numbers no writer would give.
struct NumberTable<Element> {
  private var near: [Element?] = []
  private var far: [UInt32: Element] = [:]

  @inline(__always)
  subscript(number: UInt32) -> Element? {
    if number < near.count, let element = near[Int(number)] { return element }
    return far.isEmpty ? nil : far[number]
  }

  /// Gives a number a meaning, which it then keeps.
  ///
  /// - Parameter count: The number of all elements.
  mutating func insert(_ element: Element, _ number: UInt32, of count: Int) {
    guard Int(number) < max(near.count, nearNumbers(count)) else { return far[number] = element }
    while near.count <= number { near.append(nil) }
    near[Int(number)] = element
  }

  func forEach(_ body: (Element) -> Void) {
    for case let element? in near { body(element) }
    for element in far.values { body(element) }
  }
}
