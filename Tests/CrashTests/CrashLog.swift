import CrashRecords
import Glibc
import MMLogReader
import MMLogSystem
import Testing

/// A store in a folder of its own that children log into and recover, and die in.
final class CrashLog {
  let folder: Folder
  let settings: Settings
  private let page: CountPage
  private var children = 0

  init(_ settings: Settings) throws {
    folder = try Folder()
    self.settings = settings
    page = try CountPage(folder("page"))
  }

  /// Where the store is.
  var store: String { folder("store") }

  /// How many records of each lane are acknowledged.
  var acknowledged: [Int] { page.counts }

  /// Starts a child that logs, and waits until it does.
  func startLogging(_ arguments: [String] = []) throws -> ChildProcess {
    try start(page: "page", settings.arguments + arguments)
  }

  /// Starts a child that opens the store and closes it again, and waits until it is about to.
  func startRecovering(_ arguments: [String] = [], in store: String = "store") throws
    -> ChildProcess
  {
    try start(
      page: "page \(children + 1)", ["--recover"] + settings.storeArguments + arguments, store)
  }

  private func start(page name: String, _ arguments: [String], _ store: String = "store") throws
    -> ChildProcess
  {
    children += 1
    let page = try CountPage(folder(name))
    let child = try ChildProcess(
      "mmlog-crash-child", ["--directory", folder(store), "--page", folder(name)] + arguments,
      errors: folder("errors \(children)"))
    // One that is to die at a certain place may die before.
    if arguments.contains(where: { $0.hasPrefix("--die-at") }) { return child }
    try child.wait { page.isReady }
    return child
  }

  /// Has a child recover the store that nobody kills.
  func recover(in store: String = "store") throws {
    let child = try startRecovering(in: store)
    let ending = child.wait()
    #expect(ending == .exited(0), "\(child.complaints)")
  }

  /// Expects that exactly what was logged is there, and that no ring is left.
  ///
  /// - Parameter isRecovered: False as long as it is in a ring.
  @discardableResult
  func expectEverything(
    in store: String = "store", isRecovered: Bool = true, _ comment: Comment? = nil,
    _ location: SourceLocation = #_sourceLocation
  ) throws -> Findings {
    let findings = Findings(in: folder(store), settings, acknowledged: acknowledged)
    #expect(findings.problems.isEmpty, comment, sourceLocation: location)
    if isRecovered {
      let rings = try Directory.open(folder(store)).names().filter { $0.hasSuffix(".ring") }
      #expect(rings.isEmpty, comment, sourceLocation: location)
    }
    return findings
  }
}
