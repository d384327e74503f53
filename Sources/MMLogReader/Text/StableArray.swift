/// Values that stay in one place as long as the array lives, so that no reference is counted on the
/// way to them.
///
/// Proof of `@unchecked Sendable`: nobody changes them.
struct StableArray<Element: BitwiseCopyable>: ~Copyable, @unchecked Sendable {
  let elements: UnsafeBufferPointer<Element>

  init(_ elements: [Element]) {
    let copy = UnsafeMutableBufferPointer<Element>.allocate(capacity: elements.count)
    _ = copy.initialize(from: elements)
    self.elements = UnsafeBufferPointer(copy)
  }

  deinit { elements.deallocate() }
}
