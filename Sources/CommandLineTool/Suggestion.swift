/// The candidate that a user most likely meant: one that begins with the text, or else the one with
/// the fewest typing mistakes, if these are not more than a third of its letters.
package func nearest(to text: String, among candidates: [String]) -> String? {
  let letters = Array(text.drop { $0 == "-" })
  // Longer texts are no typing mistakes, and the table of distances grows with the square.
  guard (1...64).contains(letters.count) else { return nil }
  let close = candidates.compactMap { candidate -> (name: String, slips: Int)? in
    if candidate.utf8.count > 256 { return nil }
    let other = Array(candidate.drop { $0 == "-" })
    if letters.count > 1 && other.starts(with: letters) { return (candidate, 0) }
    let maximum = max(1, other.count / 3)
    // So many letters were added or left out at least.
    if abs(other.count - letters.count) > maximum { return nil }
    let slips = distance(letters, other)
    return slips <= maximum && slips < other.count ? (candidate, slips) : nil
  }
  return close.min { $0.slips < $1.slips }?.name
}

/// The number of letters that were added, left out, replaced or swapped with their neighbor: the
/// optimal string alignment distance, row by row.
private func distance(_ a: [Character], _ b: [Character]) -> Int {
  var beforeLast: [Int] = []
  var last = Array(0...b.count)
  for i in a.indices {
    var row = [i + 1]
    for j in b.indices {
      let replaced = last[j] + (a[i] == b[j] ? 0 : 1)
      var minimum = min(replaced, last[j + 1] + 1, row[j] + 1)
      if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
        minimum = min(minimum, beforeLast[j - 1] + 1)
      }
      row.append(minimum)
    }
    (beforeLast, last) = (last, row)
  }
  return last[b.count]
}
