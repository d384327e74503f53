/// What a process is doing, as the kernel says: /proc/PID/stat, proc(5).
package enum ProcessState: Equatable, Sendable {
  /// It runs, or waits for something that a signal can end.
  case running
  /// It was stopped, by SIGSTOP or a debugger.
  case stopped
  /// It waits for a disk or a file system: no signal ends that.
  case waitingForDisk
  /// It has ended, and its parent has not waited for it.
  case dead

  /// Finds out the state of a process; nil if there is no such process here, or it has another
  /// name: in another namespace, numbers stand for other processes.
  ///
  /// - Parameters:
  ///   - id: The process's number.
  ///   - name: Its program's name.
  ///   - file: A file that the process has mapped, and a part of the file's name, between dots,
  ///     that no other file has. A process that has not mapped it is another one with the same
  ///     number and name. Nil: any process counts, as it does where the kernel does not say what a
  ///     process has mapped.
  package init?(of id: UInt32, name: String, mapping file: (inode: UInt64, part: String)? = nil) {
    if let file, Self.isKnownNotToMap(file, id) { return nil }
    // The kernel cuts a name at a byte, also within a character.
    let start = String(decoding: name.utf8.prefix(15), as: UTF8.self)
    guard let line = ProcessLine(of: id), start.utf8.elementsEqual(line.name.utf8),
      let state = line.state
    else { return nil }
    self = state
  }

  /// Reads /proc/PID/maps: addresses, access, offset, device, inode, and name. A file that had no
  /// name when it was mapped has none there.
  private static func isKnownNotToMap(_ file: (inode: UInt64, part: String), _ id: UInt32) -> Bool {
    let maps = Host.wholeContents(of: "/proc/\(id)/maps").utf8
    let inode = "\(file.inode)".utf8
    return !maps.isEmpty
      && !maps.split(separator: UInt8(ascii: "\n")).contains { line in
        let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 5)
        return fields.count > 4 && fields[4].elementsEqual(inode)
          || line.split(separator: UInt8(ascii: ".")).contains { $0.elementsEqual(file.part.utf8) }
      }
  }
}

/// The line that the kernel has about a process, split into fields: /proc/PID/stat, proc(5).
struct ProcessLine {
  /// The first 15 bytes of its program's name.
  let name: Substring
  /// The fields behind the name, the state first.
  private let fields: [Substring]

  /// Reads the line of a process; nil if there is no such process here, or it is not shown.
  init?(of id: UInt32) {
    let line = Host.contents(of: "/proc/\(id)/stat").unicodeScalars
    // The name in parentheses may have any character in it, also one that combines with a
    // parenthesis.
    guard let start = line.firstIndex(of: "("), let end = line.lastIndex(of: ")"), start < end
    else {
      return nil
    }
    name = Substring(line[line.index(after: start)..<end])
    fields = line[end...].dropFirst().split(separator: " ").map(Substring.init)
  }

  /// The state of the process; nil if the line is cut.
  var state: ProcessState? {
    switch fields.first?.first {
    case "T", "t": .stopped
    case "D": .waitingForDisk
    case "Z", "X", "x": .dead
    case nil: nil
    default: .running
    }
  }

  /// When the process started, in ticks since the boot; nil if the line is cut.
  var start: UInt64? { fields.count > 19 ? UInt64(fields[19]) : nil }
}
