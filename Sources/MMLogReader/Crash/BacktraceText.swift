import MMLogFormat

extension LogReader.Record {
  /// The stacks that were logged with the record (`Logger.MetadataValue.backtrace()`), in their
  /// order: the name of the field, and a line for each function that was under way, the innermost
  /// first. Not escaped.
  ///
  /// The names of functions are found as for a crash: in the programs and libraries, if these still
  /// exist and are of the same build, or in their debug files; see ``CrashReport/details``. Without
  /// a name, a line has the place in the file, for `addr2line(1)`.
  ///
  /// - Complexity: O(symbols of the programs × functions), at each call.
  public var backtraces: [(name: String, lines: [String])] {
    fields.compactMap { name, value in LoggedStack(value).map { (name, $0.lines) } }
  }
}

/// A stack as it stands in a record. Any caller may have logged a value that looks like a stack.
struct LoggedStack {
  private struct Frame {
    var path: String
    /// The offset from the file's beginning, in bytes.
    var offset: UInt64
  }

  /// The maxima of what is logged: a value that has more is no stack.
  private static let (maximumFrames, maximumBuilds) = (128, 16)

  private let frames: [Frame]
  /// The build ids, by path.
  private let builds: [String: [UInt8]]

  /// Nil if a value is no stack.
  init?(_ value: Value) {
    guard case .dictionary(let pairs) = value, pairs.map(\.key) == ["frames", "builds"],
      case .array(let frames) = pairs[0].value, frames.count <= Self.maximumFrames,
      case .dictionary(let builds) = pairs[1].value, builds.count <= Self.maximumBuilds
    else { return nil }
    let found = frames.compactMap { $0.string.flatMap(Self.frame) }
    guard found.count == frames.count else { return nil }
    self.frames = found
    let ids = builds.compactMap { path, id in
      id.string.flatMap(Self.bytes).map { (path, $0) }
    }
    self.builds = Dictionary(ids, uniquingKeysWith: { first, _ in first })
  }

  /// A line for each frame.
  var lines: [String] {
    let functions = self.functions
    return frames.enumerated().map { index, frame in
      let offset = "0x\(String(frame.offset, radix: 16))"
      let place = frame.path.isEmpty ? offset : "\(frame.path) + \(offset)"
      let function = functions[index].map { "\($0.name) + \($0.offset)  (\(place))" }
      return "\(frameNumber(index))  \(function ?? place)"
    }
  }

  /// The function of each frame, by the frame's index.
  private var functions: [Int: ExecutableSymbols.Function] {
    var result: [Int: ExecutableSymbols.Function] = [:]
    for (path, id) in builds {
      guard let symbols = ExecutableSymbols.ofBuild(id, path: path) else { continue }
      let own = frames.indices.filter { frames[$0].path == path && frames[$0].offset > 0 }
      // A call may be a function's last instruction: then the return address is in the next
      // function.
      let found = symbols.functions(at: own.map { frames[$0].offset - 1 })
      for index in own {
        result[index] = found[frames[index].offset - 1].map { ($0.name, $0.offset + 1) }
      }
    }
    return result
  }

  /// `/usr/bin/orders+0x1e10`, or an address alone.
  private static func frame(_ text: String) -> Frame? {
    let parts = text.split(separator: "+", omittingEmptySubsequences: false)
    guard let last = parts.last, last.hasPrefix("0x"),
      let offset = UInt64(last.dropFirst(2), radix: 16)
    else { return nil }
    return Frame(path: parts.dropLast().joined(separator: "+"), offset: offset)
  }

  private static func bytes(_ hex: String) -> [UInt8]? {
    let digits = Array(hex.utf8)
    guard digits.count % 2 == 0 else { return nil }
    let bytes = stride(from: 0, to: digits.count, by: 2).compactMap {
      UInt8(String(decoding: digits[$0...$0 + 1], as: UTF8.self), radix: 16)
    }
    return bytes.count == digits.count / 2 ? bytes : nil
  }
}
