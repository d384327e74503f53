public import MMLogFormat

extension CrashReport {
  /// A function that was under way.
  package struct Frame {
    /// The place in the function, as an address in the process's memory.
    package let address: UInt64
    /// The program or library; nil if it is not known.
    package let path: String?
    /// The place in the program or library, as `addr2line(1)` takes it.
    package let place: UInt64
    /// The function's name, and how many bytes behind its beginning the place is; nil if not known.
    package var function: (name: String, offset: UInt64)?
    /// The file that has the name: the program, or its debug file, of the same build; nil if none
    /// has.
    package var symbolFile: String?
    /// File and line in the source code; nil if that is not known.
    package var line: String?
    /// Why compiled code stopped here by itself, such as `Index out of range`; nil if it did not,
    /// or that is not known.
    package var failure: String?
  }

  /// The functions that were under way, the innermost first.
  ///
  /// - Complexity: As ``details``.
  package var stack: [Frame] {
    let functions = self.functions
    return frames.enumerated().map { index, address in
      let module = module(of: address)
      return Frame(
        address: address, path: module?.path, place: address - (module?.base ?? 0),
        function: functions[index]?.function, symbolFile: functions[index]?.file)
    }
  }

  /// What the runtime said, the functions that were under way, the innermost first, and the
  /// registers: a line for each. Not escaped.
  ///
  /// The names of functions are those of the programs and libraries, if these still exist and are
  /// of the same build. Without a name, a line has the place in the file, for `addr2line(1)`. A
  /// debug file in `/usr/lib/debug` is used, too.
  ///
  /// - Complexity: O(symbols of the programs × frames).
  public var details: [String] { details(of: stack) }

  /// As ``details``, for a stack of which more is known than the files say.
  ///
  /// - Parameter columns: The maximum width of a line of registers.
  package func details(of stack: [Frame], columns: Int = 104) -> [String] {
    var lines = stack.enumerated().map { index, frame in
      "\(frameNumber(index))  0x\(frame.address.allHexDigits)  \(frame.text)"
    }
    if let said = said(at: stack) { lines.insert("said: \(said)", at: 0) }
    if hasMoreFrames { lines.append("     and more") }
    if isGuessed {
      lines.append("     some were found by searching for them, and may be missing or wrong")
    }
    return lines + registerLines(columns)
  }

  /// What the runtime said; if it said nothing, why compiled code stopped.
  package func said(at stack: [Frame]) -> String? {
    if !message.isEmpty { return message }
    return stack.first?.failure.map { "Swift runtime failure: \($0)" }
  }

  /// The function of each frame, by the frame's index.
  private var functions: [Int: (function: ExecutableSymbols.Function, file: String)] {
    var result: [Int: (function: ExecutableSymbols.Function, file: String)] = [:]
    for module in modules {
      let own = frames.indices.filter { self.module(of: frames[$0]) == module }
      guard let symbols = ExecutableSymbols.ofBuild(module.buildID, path: module.path) else {
        continue
      }
      // A call may be a function's last instruction: then the return address is in the next
      // function. Any address in a report may be at a module's very beginning.
      let addresses = own.map { frames[$0] - module.base &- ($0 > 0 ? 1 : 0) }
      let found = symbols.functions(at: addresses)
      for (index, address) in zip(own, addresses) {
        result[index] = found[address].map {
          (($0.name, $0.offset + (index > 0 ? 1 : 0)), symbols.path)
        }
      }
    }
    return result
  }

  private func registerLines(_ columns: Int) -> [String] {
    let texts = zip(registerNames, registers).map { name, value in
      String(repeating: " ", count: max(0, 7 - name.utf8.count)) + name + " 0x\(value.allHexDigits)"
    }
    let count = min(4, max(1, columns / 26))
    return stride(from: 0, to: texts.count, by: count).map {
      texts[$0..<min($0 + count, texts.count)].joined()
    }
  }
}

extension CrashReport.Frame {
  fileprivate var text: String {
    guard let path else { return "?" }
    let file = (line.map { "\($0), " } ?? "") + "\(path) + 0x\(String(place, radix: 16))"
    return function.map { "\($0.name) + \($0.offset)  (\(file))" } ?? file
  }
}

/// A frame's number, right-aligned.
func frameNumber(_ index: Int) -> String {
  String(repeating: " ", count: index < 10 ? 3 : index < 100 ? 2 : 1) + "\(index)"
}
