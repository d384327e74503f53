/// Makes the names of one object unique.
package struct UniqueNames {
  /// The names, each with the number at which the search for the next free one begins.
  private var numbers: [String: Int] = [:]

  /// Makes a set in which `names` are taken already.
  package init(_ names: [String] = []) {
    for name in names { _ = unique(name) }
  }

  /// Returns the name, or the name with the first of `#2`, `#3` … that is free.
  package mutating func unique(_ name: String) -> String {
    guard var number = numbers[name] else {
      numbers[name] = 2
      return name
    }
    while numbers["\(name)#\(number)"] != nil { number += 1 }
    numbers[name] = number + 1
    numbers["\(name)#\(number)"] = 2
    return "\(name)#\(number)"
  }
}
