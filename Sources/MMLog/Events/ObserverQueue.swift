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
    ///
    /// Until this method returns, the observer cannot be asked whether an archive may be deleted,
    /// and the archive stays; see ``mayDelete(_:for:)``.
    func handle(_ event: LogStore.Event)

    /// Returns whether a limit may delete an archive. If not, the store asks again the next time.
    ///
    /// The store waits a second for the observer to end its work on events, and then keeps the
    /// archive for this time. An observer that needs longer than a second for the answer, or that
    /// has not come to a question for five minutes, is taken to agree, so that an observer that
    /// hangs cannot fill the disk. To be sure to keep an archive, use ``LogStore/pin(_:because:)``.
    /// The store does not ask about deletions that the program asks for. While the store is being
    /// closed, it asks nobody and no limit deletes anything: the next start goes on with that.
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
    case question(Question)

    var isEvent: Bool { if case .event = self { true } else { false } }
  }

  private final class Question: Sendable {
    let archive: ArchiveInfo
    let rule: Retention.Rule
    let answer = Promise<Bool>()
    let added = Clock.monotonic()
    /// When the observer was asked, as monotonic time; 0 until then.
    let asked = Atomic<UInt64>(0)

    init(_ archive: ArchiveInfo, _ rule: Retention.Rule) {
      (self.archive, self.rule) = (archive, rule)
    }
  }

  private struct State {
    var items: [Item] = []
    var isOver = false
  }

  /// How many events wait at most.
  private static let capacity = 1024
  /// How long to wait for an answer, in nanoseconds, and before for the observer to be asked.
  private static let timeout: UInt64 = 1_000_000_000

  private let observer: any LogStore.Observer
  /// How long the observer may keep archives by not being there to be asked, in nanoseconds.
  private let patience: UInt64
  private let state = LockedValue(State())
  private let missed = Atomic<Int>(0)
  private let isAsking = Atomic<Bool>(true)
  private let worker = Worker("mmlog-observer")

  init(_ observer: any LogStore.Observer, patience: UInt64 = 300_000_000_000) {
    (self.observer, self.patience) = (observer, patience)
  }

  var missedCount: Int { missed.load(ordering: .relaxed) }

  func send(_ event: LogStore.Event) { put(.event(event)) }

  /// Returns the observer's answer; true if the answer does not come in time, and false if the
  /// observer is busy with events, or nobody is to wait for the answer any more.
  func ask(_ archive: ArchiveInfo, _ rule: Retention.Rule) -> Bool {
    // No further question waits behind one that has waited for too long already.
    if let isYes = answerOfBusy { return isYes }
    guard isAsking.load(ordering: .acquiring) else { return false }
    let question = Question(archive, rule)
    put(.question(question))
    while isAsking.load(ordering: .acquiring) {
      if let isYes = question.answer.wait(atMost: 50_000_000) ?? answerOfBusy { return isYes }
      let asked = question.asked.load(ordering: .acquiring)
      if asked > 0, Clock.monotonic() &- asked >= Self.timeout {
        missed.add(1, ordering: .relaxed)
        return true
      }
    }
    return false
  }

  /// The answer in place of an observer that events keep from being asked; nil as long as it may
  /// still be asked in time.
  private var answerOfBusy: Bool? {
    let oldest = state.withLock { state -> Question? in
      for case .question(let question) in state.items { return question }
      return nil
    }
    guard let oldest, case let waiting = Clock.monotonic() &- oldest.added,
      waiting >= Self.timeout
    else { return nil }
    if waiting < patience { return false }
    missed.add(1, ordering: .relaxed)
    return true
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
      if state.isOver { return true }
      state.items.append(item)
      // A question stays: it tells for how long the observer has not come to it.
      if state.items.count > Self.capacity, let oldest = state.items.firstIndex(where: \.isEvent) {
        state.items.remove(at: oldest)
        missed.add(1, ordering: .relaxed)
      }
      return false
    }
    if isOver {
      // Nobody will answer it.
      if case .question(let question) = item { question.answer.fulfill(false) }
      return
    }
    // Starts the thread at the first event, and again in a fork's child. If no thread can be made
    // now, the next event tries again.
    try? worker.start { [self] _ in
      notify()
      return 60_000_000_000
    }
    worker.wake()
  }

  private func notify() {
    while let item = takeItem() {
      switch item {
      case .event(let event): observer.handle(event)
      case .question(let question):
        question.asked.store(Clock.monotonic(), ordering: .releasing)
        question.answer.fulfill(observer.mayDelete(question.archive, for: question.rule))
      }
    }
  }

  /// Takes the item that has waited longest; nil if none waits.
  private func takeItem() -> Item? {
    state.withLock { $0.items.isEmpty ? nil : $0.items.removeFirst() }
  }
}
