import TestSupport
import CommandLineTool
import CrashRecords

/// One scene, and mutated copies of it, each of which is read and judged.
struct MutationRun {
  private let scene: Scene
  private let seed: UInt64
  private let folder: String
  private let output: StandardOutput
  private var copy: CopyFolder
  private(set) var counts = MutationCounts()

  init(seed: UInt64, in folder: String, _ output: StandardOutput) throws {
    (self.seed, self.folder, self.output) = (seed, folder, output)
    scene = try Scene(seed: seed, in: folder)
    copy = try CopyFolder(of: scene, in: "\(folder)/copy")
  }

  /// Makes, reads and judges copies.
  ///
  /// - Parameters:
  ///   - numbers: The numbers of the copies.
  ///   - every: One of so many copies is also verified, repaired, recovered and decoded by a
  ///     process.
  ///   - maximum: After how many findings to end.
  mutating func run(_ numbers: Range<Int>, sampling every: Int, maximum: Int) throws {
    for number in numbers {
      try run(number, isSample: number % every == 0)
      if counts.findings >= maximum { return }
    }
  }

  private mutating func run(_ number: Int, isSample: Bool) throws {
    var random = SeededGenerator(seed: mix(seed) &+ UInt64(number))
    var files = MutatedFiles(scene)
    var (kinds, story) = ([Mutation](), [String]())
    let count = random.pick(1, 1, 2, 3)
    // There may be nothing left to mutate.
    for _ in 0..<1000 where kinds.count < count {
      guard let kind = Mutation.allCases.randomElement(using: &random),
        let text = kind.apply(to: &files, &random)
      else { continue }
      kinds.append(kind)
      story.append(text)
    }
    try copy.put(files)
    // Written before reading, in case reading ends this process.
    try Folder.write(Array("copy \(number): \(story)\n".utf8), to: "\(folder)/under-way")
    let found = FoundLog([copy.path], maximum: 4 * scene.records.count + 10_000)
    let verdict = Verdict(found, of: files, in: copy.path)
    var problems = verdict.problems
    if isSample, problems.isEmpty {
      problems = MutationSample(files, found, copy.path, in: "\(folder)/sample").problems()
    }
    counts.add(kinds, verdict.outcome, isFinding: !problems.isEmpty, isSample: isSample)
    if !problems.isEmpty { try report(number, story, problems) }
  }

  private func report(_ number: Int, _ story: [String], _ problems: [String]) throws {
    let kept = "\(folder)/found-\(number)"
    try Folder.copy(copy.path, to: kept)
    try output.append(
      "  mutations run --seed \(seed) --copies \(number + 1) --from \(number), kept in \(kept):\n"
        + (story + problems).map { "    \($0)\n" }.joined())
    try output.flush()
  }
}

/// A folder that holds one mutated copy of a scene after the other.
struct CopyFolder {
  let path: String
  private let scene: Scene
  /// The names whose contents differ from the whole directory's.
  private var touched: Set<String> = []

  init(of scene: Scene, in path: String) throws {
    (self.scene, self.path) = (scene, path)
    try Folder.copy(scene.folder, to: path)
  }

  /// Replaces the files there.
  mutating func put(_ files: MutatedFiles) throws {
    var left = touched.union(scene.files.map(\.name))
    for file in files.files {
      left.remove(file.name)
      let original = scene.files[file.origin]
      let isWhole = file.name == original.name && file.bytes == original.bytes
      if isWhole, !touched.contains(file.name) { continue }
      try Folder.write(file.bytes, to: "\(path)/\(file.name)")
      if isWhole { touched.remove(file.name) } else { touched.insert(file.name) }
    }
    for name in left {
      Folder.remove("\(path)/\(name)")
      touched.insert(name)
    }
  }
}
