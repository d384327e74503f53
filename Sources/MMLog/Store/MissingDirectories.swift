import MMLogSystem

/// The directories that are missing on some paths. A store makes them, and removes them again if it
/// cannot be opened.
struct MissingDirectories {
  /// The deepest first.
  private var paths: [String] = []

  init(above wanted: [String]) {
    for path in wanted {
      var rest = path
      // A missing directory cannot be opened. A directory that cannot be opened for another reason
      // is not made either.
      while !rest.isEmpty, Self.isMissing(rest) {
        paths.append(rest)
        let parent = Self.parent(of: rest)
        // Nothing is above `/`, even if `/` itself is missing.
        if parent == rest { break }
        rest = parent
      }
    }
  }

  /// Removes those of the directories that now exist and are empty.
  func removeAgain() {
    for path in paths {
      let name = String(path.split(separator: "/").last ?? "")
      let parent = Self.parent(of: path)
      try? Directory.open(parent.isEmpty ? "." : parent).removeDirectory(name)
    }
  }

  private static func isMissing(_ path: String) -> Bool {
    do throws(SystemError) {
      _ = try Directory.open(path)
      return false
    } catch {
      return error.isNotFound
    }
  }

  /// The path without its last name; `/` and the empty path stand for themselves.
  private static func parent(of path: String) -> String {
    let names = path.split(separator: "/").dropLast()
    return (path.hasPrefix("/") ? "/" : "") + names.joined(separator: "/")
  }
}
