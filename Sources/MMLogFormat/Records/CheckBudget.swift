/// Bounds the work of a search for valid bytes among hostile ones, where every offset could
/// announce a long record: to a multiple of the size of all bytes.
package struct CheckBudget {
  private var left: Int

  package init(_ size: Int) { left = max(size, 4096) * 32 }

  /// Takes `bytes` from the budget. True if they may be checked.
  package mutating func spend(_ bytes: Int) -> Bool {
    left -= bytes
    return left >= 0
  }
}
