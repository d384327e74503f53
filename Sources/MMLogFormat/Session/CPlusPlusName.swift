/// Names of types as C++ compilers mangle them (the Itanium ABI).
enum CPlusPlusName {
  /// `std::runtime_error` for `St13runtime_error`. Only plain and nested names are known; any other
  /// stays as it is.
  static func ofType(_ mangled: String) -> String {
    var rest = mangled.utf8[...]
    // The compiler's word that the name is unique to its file.
    if rest.first == UInt8(ascii: "*") { rest.removeFirst() }
    let isNested = rest.first == UInt8(ascii: "N") && rest.last == UInt8(ascii: "E")
    if isNested { rest = rest.dropFirst().dropLast() }
    var names: [String] = []
    if rest.starts(with: "St".utf8) {
      names = ["std"]
      rest.removeFirst(2)
    }
    while !rest.isEmpty {
      let digits = rest.prefix { (48...57).contains($0) }
      rest.removeFirst(digits.count)
      guard let size = Int(String(digits) ?? ""), size > 0, size <= rest.count,
        let name = String(rest.prefix(size))
      else { return mangled }
      names.append(name)
      rest.removeFirst(size)
    }
    return names.isEmpty ? mangled : names.joined(separator: "::")
  }
}
