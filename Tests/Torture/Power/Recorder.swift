import Glibc
import MMLogSystem

/// Records what becomes of the files of a folder, and what of it is synced. Debug builds only: in
/// others nobody is notified of system calls.
///
/// Proof of `@unchecked Sendable`: all that changes is touched under `lock`.
final class Recorder: @unchecked Sendable {
  let folder: String
  private let lock = ForkSafeMutex()
  var history = History()
  /// The files by the paths that they were opened by. Observed calls name these paths.
  var opened: [String: Int] = [:]
  var nameSyncBegan: Int?

  /// Begins to record.
  ///
  /// - Parameter isSafe: Whether all files that are there already are on the disk. If not, only
  ///   archives older than the newest are, since they were closed.
  init(_ folder: String, isSafe: Bool = true) {
    self.folder = folder
    history.now = isSafe ? 0 : 1
    scanNames()
    if !isSafe { keepClosed() }
    #if DEBUG
      CallObserver.observe { [self] call, path, phase in
        lock.withLock { take(call, path, phase) }
      }
    #endif
  }

  private func keepClosed() {
    let names = history.names.last?.value ?? [:]
    // Ordered by the number that names end in: two sessions may have begun in one second.
    let newest = names.keys.filter { $0.hasSuffix(".mmlog") }
      .max { $0.suffix(12) < $1.suffix(12) }
    let closed = names.filter { $0.key.hasSuffix(".mmlog") && $0.key != newest }
    history.names.insert(.init(time: 0, value: closed), at: 0)
    for id in closed.values { history.files[id].syncs.append(.init(began: 1, ended: 1)) }
  }

  /// Ends recording.
  func stop() -> History {
    #if DEBUG
      CallObserver.observe(nil)
    #endif
    return lock.withLock {
      step()
      defer { history = History() }
      return history
    }
  }

  /// Inspects the rings, which change without calls, and returns the time.
  @discardableResult
  func scan() -> Int {
    lock.withLock {
      step()
      return history.now
    }
  }

  /// Takes all that is in the rings as on the disk from now on, as if the kernel had written it
  /// back.
  func writeBack() {
    lock.withLock {
      step()
      for file in history.files where file.isRing {
        file.syncs.append(.init(began: history.now, ended: history.now))
      }
    }
  }

  /// Notes that so many records of each lane have to survive from now on.
  func require(_ counts: [Int], level: UInt8) {
    lock.withLock {
      step()
      history.requirements.append(.init(time: history.now, counts: counts, level: level))
    }
  }

  /// Advances the time. The caller has the lock, as in the functions below.
  func step() {
    history.now += 1
    for file in history.files where file.isRing { file.scan(history.now) }
  }

  /// Notes the names that there are, and opens new files.
  func scanNames() {
    guard let stream = opendir(folder) else { return }
    defer { closedir(stream) }
    var names: [String: Int] = [:]
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
      }
      if !name.hasPrefix(".") { names[name] = number(of: name) }
    }
    if history.names.last?.value != names {
      history.names.append(.init(time: history.now, value: names))
    }
  }

  private func number(of name: String) -> Int? {
    let descriptor = open("\(folder)/\(name)", O_RDONLY | O_CLOEXEC)
    var status = stat()
    guard descriptor >= 0, fstat(descriptor, &status) == 0 else { return nil }
    if let known = history.files.firstIndex(where: { $0.inode == status.st_ino }) {
      close(descriptor)
      return known
    }
    let isRing = name.contains(".ring")
    let file = RecordedFile(descriptor: descriptor, inode: status.st_ino, isRing: isRing)
    file.scan(history.now)
    history.files.append(file)
    return history.files.count - 1
  }
}
