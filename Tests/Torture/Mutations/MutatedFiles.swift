import TestSupport

/// The files of a scene while they are mutated.
struct MutatedFiles {
  /// A file that is still there.
  struct File {
    /// The index of the scene's file that its bytes began as.
    let origin: Int
    var name: String
    var bytes: [UInt8]
  }

  let scene: Scene
  var files: [File]

  init(_ scene: Scene) {
    self.scene = scene
    files = scene.files.enumerated().map { File(origin: $0, name: $1.name, bytes: $1.bytes) }
  }

  /// What a file was before anything was done to it.
  func original(_ index: Int) -> LogFile { scene.files[files[index].origin] }

  /// The parts of a file's original that are still within it.
  func parts(_ index: Int, _ isWanted: (FilePart) -> Bool = { _ in true }) -> [FilePart] {
    original(index).parts.filter { $0.range.upperBound <= files[index].bytes.count && isWanted($0) }
  }

  /// Picks a wanted file among those that are read; nil if there is none.
  func pick(_ random: inout SeededGenerator, _ isWanted: (Int) -> Bool) -> Int? {
    files.indices.filter { index in
      let file = files[index]
      return !file.bytes.isEmpty && !file.name.hasSuffix(".new") && isWanted(index)
    }.randomElement(using: &random)
  }

  func isRing(_ index: Int) -> Bool { original(index).isRing }

  /// Puts bytes into a file, up to the file's end.
  ///
  /// - Returns: Whether that changed anything.
  mutating func put(_ bytes: some Collection<UInt8>, at offset: Int, of index: Int) -> Bool {
    let end = min(files[index].bytes.count, offset + bytes.count)
    guard offset < end, !files[index].bytes[offset..<end].elementsEqual(bytes.prefix(end - offset))
    else { return false }
    files[index].bytes.replaceSubrange(offset..<end, with: bytes.prefix(end - offset))
    return true
  }
}
