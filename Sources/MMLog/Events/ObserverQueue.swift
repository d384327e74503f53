public import MMLogStorage
import MMLogSystem
import Synchronization

extension LogStore {
  /// An object that is notified of what a store does, one event after the other, on a thread of its
  /// own. It may call any method of the store, and take its time. When 1024 events wait for it, it
  /// misses the oldest.
  ///
  /// The store's threads block all signals from outside. A program that is started on such a thread
  /// inherits that: give the program a signal mask (posix_spawnattr_setsigmask(3)), or SIGTERM does
  /// not end it.
  public protocol Observer: AnyObject, Sendable {
    /// Called when something has happened.
    func handle(_ event: LogStore.Event)

    /// Returns whether a limit may delete an archive. If not, the store asks again the next time.
    ///
    /// An observer that needs longer than a second for the answer is taken to agree, so that an
    /// observer that hangs cannot fill the disk. To be sure to keep an archive, use
    /// ``LogStore/pin(_:because:)``. The store does not ask about deletions that the program asks
    /// for. While the store is being closed, it asks nobody and no limit deletes anything: the next
    /// start goes on with that.
    func mayDelete(_ archive: ArchiveInfo, for rule: Retention.Rule) -> Bool
  }
}

extension LogStore.Observer {
  /// Lets all limits delete what they have to.
  public func mayDelete(_ archive: ArchiveInfo, for rule: Retention.Rule) -> Bool { true }
}

/// What an observer has still to be notified of, and the thread that notifies it.
final class ObserverQueue: Sendable {
  private enum Item {
    case event(LogStore.Event)
    case question(ArchiveInfo, Retention.Rule, Promise<Bool>)
  }

  private struct State {
    var items: [Item] = []
    var isOver = false
  }

  /// How many events wait at most.
  private static let capacity = 1024
  /// How long to wait for an answer, in nanoseconds.
  private static let timeout: Int64 = 1_000_000_000

  private let observer: any LogStore.Observer
  private let state = LockedValue(State())
  private let missed = Atomic<Int>(0)
  private let isAsking = Atomic<Bool>(true)
  private let worker = Worker("mmlog-observer")

  init(_ observer: any LogStore.Observer) { self.observer = observer }

  var missedCount: Int { missed.load(ordering: .relaxed) }

  func send(_ event: LogStore.Event) { put(.event(event)) }

  /// Returns the observer's answer; true if the answer does not come in time, and false if nobody
  /// is to wait for it any more.
  func ask(_ archive: ArchiveInfo, _ rule: Retention.Rule) -> Bool {
    guard isAsking.load(ordering: .acquiring) else { return false }
    let answer = Promise<Bool>()
    put(.question(archive, rule, answer))
    let deadline = Deadline(after: Self.timeout)
    while isAsking.load(ordering: .acquiring) {
      if let isYes = answer.wait(atMost: 50_000_000) { return isYes }
      if deadline.isOver {
        missed.add(1, ordering: .relaxed)
        return true
      }
    }
    return false
  }

  func stopAsking() { isAsking.store(false, ordering: .releasing) }

  /// Lets the thread end when everything has been reported. Does not wait for the thread: the
  /// observer may be the caller.
  func finish() {
    state.withLock { $0.isOver = true }
    worker.finish()
  }

  /// Waits until everything has been reported, unless the observer is the caller.
  func waitForEnd() { worker.stop() }

  private func put(_ item: Item) {
    let isOver = state.withLock { state in
      if !state.isOver { state.items.append(item) }
      if state.items.count > Self.capacity {
        state.items.removeFirst()
        missed.add(1, ordering: .relaxed)
      }
      return state.isOver
    }
    if isOver { return }
    // Starts the thread at the first event, and again in a fork's child. If no thread can be made
    // now, the next event tries again.
    try? worker.start { [self] _ in
      notify()
      return 60_000_000_000
    }
    worker.wake()
  }

  private func notify() {
    while let items = takeItems() {
      for item in items {
        switch item {
        case .event(let event): observer.handle(event)
        case .question(let archive, let rule, let answer):
          answer.fulfill(observer.mayDelete(archive, for: rule))
        }
      }
    }
  }

  /// Takes the items that wait; nil if none does.
  private func takeItems() -> [Item]? {
    state.withLock { state in
      defer { state.items = [] }
      return state.items.isEmpty ? nil : state.items
    }
  }
}
