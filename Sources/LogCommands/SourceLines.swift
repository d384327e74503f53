package import MMLogReader
import MMLogSystem

/// Finds source lines and C++ names for the frames of a stack, by `llvm-symbolizer` or `addr2line`,
/// if one of them is installed.
///
/// The tools get only files that function names come from. These are of the same build as the
/// programs and libraries that crashed. Otherwise the lines would be wrong, and a log could have
/// any file inspected.
package enum SourceLines {
  /// The frames with their source lines, as far as the tools find them.
  package static func added(to stack: [CrashReport.Frame]) -> [CrashReport.Frame] {
    var stack = stack
    for path in Set(stack.compactMap(\.symbolFile)) {
      let own = stack.indices.filter { stack[$0].symbolFile == path }
      // A call may be a function's last instruction: then the return address is in the next
      // function.
      let places = own.map { stack[$0].place &- ($0 > 0 ? 1 : 0) }
      for (index, calls) in zip(own, calls(at: places, in: path)) {
        stack[index].line = calls.lazy.compactMap(\.line).first
        // Swift names are known already.
        if stack[index].function?.name.hasPrefix("_Z") == true, let function = calls.last?.function
        {
          stack[index].function?.name = function
        }
        if index == 0 { stack[index].failure = failure(in: calls) }
      }
    }
    return stack
  }

  /// A function that was called, or inlined into another one.
  private typealias Call = (function: String, line: String?)

  /// The name of the runtime check that failed. A compiled check is an inlined function of its own,
  /// and its name says what was wrong.
  private static func failure(in calls: [Call]) -> String? {
    let prefix = "Swift runtime failure: "
    guard let first = calls.first, first.function.hasPrefix(prefix) else { return nil }
    return String(first.function.dropFirst(prefix.count))
  }

  /// For each place, the functions that it is in, innermost first; empty if the tools do not find
  /// them.
  private static func calls(at places: [UInt64], in path: String) -> [[Call]] {
    // A path that does not begin with `/` would be taken for an option, or for a list of files.
    guard path.hasPrefix("/") else { return [] }
    let addresses = places.map { "0x\(String($0, radix: 16))" }
    let commands = [
      ["llvm-symbolizer", "--output-style=GNU", "--inlines", "--addresses", "--obj=\(path)"],
      ["addr2line", "-a", "-i", "-f", "-C", "-e", path],
    ]
    for command in commands {
      guard let text = PipedProgram.output(of: command + addresses) else { continue }
      let found = calls(in: text.unicodeScalars.split(separator: "\n").map(String.init))
      if found.count == places.count { return found }
    }
    return []
  }

  /// Reads the output of a tool: for each address a line with it, and then two lines for each
  /// function.
  private static func calls(in lines: [String]) -> [[Call]] {
    var (calls, function): ([[Call]], String?) = ([], nil)
    for line in lines {
      if let name = function {
        calls[calls.count - 1].append((name, known(line)))
        function = nil
      } else if line.hasPrefix("0x") {
        calls.append([])
      } else if !calls.isEmpty {
        function = line
      }
    }
    return calls
  }

  /// The line, or nil if the tool does not know it.
  private static func known(_ line: String) -> String? {
    line.hasPrefix("?") || line.hasSuffix(":0") || line.hasSuffix(":?") ? nil : line
  }
}
