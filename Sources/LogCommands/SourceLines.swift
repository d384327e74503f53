import MMLogReader
import MMLogSystem

/// Finds where in the source code a stack was, and the names of C++, by `llvm-symbolizer` or
/// `addr2line`, where there is one.
///
/// Only programs and libraries are shown to them that are of the same build as those that crashed:
/// otherwise the lines would be wrong, and a log could have any file inspected.
enum SourceLines {
  /// The frames with their lines, as far as these are found.
  static func added(to stack: [CrashReport.Frame]) -> [CrashReport.Frame] {
    var stack = stack
    for path in Set(stack.filter { $0.function != nil }.compactMap(\.path)) {
      let own = stack.indices.filter { stack[$0].path == path && stack[$0].function != nil }
      // A call may be a function's last instruction: then the return address is in the next one.
      let places = own.map { stack[$0].place &- ($0 > 0 ? 1 : 0) }
      for (index, found) in zip(own, found(at: places, in: path)) {
        stack[index].line = found.line
        // Names of Swift are known already.
        if stack[index].function?.name.hasPrefix("_Z") == true {
          stack[index].function?.name = found.function
        }
      }
    }
    return stack
  }

  /// For each place the function, and file and line, or nil; nothing if that cannot be found out.
  private static func found(
    at places: [UInt64], in path: String
  ) -> [(function: String, line: String?)] {
    // Another name would be taken for an option, or a list of files.
    guard path.hasPrefix("/") else { return [] }
    let addresses = places.map { "0x\(String($0, radix: 16))" }
    let commands = [
      ["llvm-symbolizer", "--output-style=GNU", "--no-inlines", "--obj=\(path)"],
      ["addr2line", "-f", "-C", "-e", path],
    ]
    for command in commands {
      guard let text = PipedProgram.output(of: command + addresses) else { continue }
      let lines = text.split(separator: "\n").map(String.init)
      guard lines.count == 2 * places.count else { continue }
      return places.indices.map { (lines[2 * $0], known(lines[2 * $0 + 1])) }
    }
    return []
  }

  /// Nil for a line that is not known.
  private static func known(_ line: String) -> String? {
    line.hasPrefix("?") || line.hasSuffix(":0") || line.hasSuffix(":?") ? nil : line
  }
}
