import MMLogFormat
import MMLogStorage
import MMLogSystem

/// Who waits for archives to hand on, and what is to be noted of the archives that were given out.
/// The maintenance thread does the work, because the work may have to wait for the directory's
/// lock.
final class UploadQueue: Sendable {
  private struct Request {
    let key: Int
    let lease: Duration
    let answer: CheckedContinuation<PendingArchive?, Never>
  }

  private struct State {
    var requests: [Request] = []
    var jobs: [@Sendable () -> Void] = []
    /// Sessions that were recovered.
    var crashed: Set<SessionID> = []
    /// When an archive that was given out may be given out again, by its name.
    var retries: [String: Backoff] = [:]
    /// Whether another process had the directory locked for too long at the last try.
    var isLocked = false
    var nextKey = 0
    /// Whether nobody serves the queue any more.
    var isOver = false

    mutating func makeKey() -> Int {
      nextKey += 1
      return nextKey
    }

    /// Notes that an archive was given out. If it comes again, it comes behind those that never
    /// were.
    mutating func noteGiven(_ name: String) { retries[name] = retries[name] ?? Self.retry }

    /// Notes that an archive came back.
    mutating func postpone(_ name: String) { retries[name, default: Self.retry].postpone() }

    private static let retry = Backoff(longest: 300_000_000_000)
  }

  let events: EventHub
  private let catalog: Catalog
  private let state = LockedValue(State())
  /// Makes the maintenance thread serve the queue soon.
  private let wake: @Sendable () -> Void

  /// - Parameter wake: Makes the maintenance thread serve the queue soon.
  init(_ catalog: Catalog, _ events: EventHub, wake: @escaping @Sendable () -> Void) {
    (self.catalog, self.events, self.wake) = (catalog, events, wake)
  }

  // MARK: - Asking

  /// Returns the next archive; nil at the store's end, or when the task is canceled.
  func next(leasedFor lease: Duration) async -> PendingArchive? {
    let key = state.withLock { $0.makeKey() }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { answer in
        add(Request(key: key, lease: lease, answer: answer))
        if Task.isCancelled { cancel(key) }
      }
    } onCancel: {
      cancel(key)
    }
  }

  private func add(_ request: Request) {
    let isOver = state.withLock { state in
      if !state.isOver { state.requests.append(request) }
      return state.isOver
    }
    if isOver { return request.answer.resume(returning: nil) }
    wake()
  }

  private func cancel(_ key: Int) {
    let request = state.withLock { state -> Request? in
      let index = state.requests.firstIndex { $0.key == key }
      return index.map { state.requests.remove(at: $0) }
    }
    request?.answer.resume(returning: nil)
  }

  /// Notes that an archive was uploaded.
  func markUploaded(
    _ archive: ArchiveInfo, _ lease: UploadLease, receipt: String?
  ) async throws(LogError) {
    let result: Result<Void, LogError> = await withCheckedContinuation { answer in
      perform { [self] in
        do throws(LogError) {
          try catalog.markUploaded(archive, receipt: receipt)
          answer.resume(returning: .success(()))
        } catch {
          takeBack(archive, lease)
          answer.resume(returning: .failure(error))
        }
      }
    }
    try result.get()
  }

  /// Notes that nobody has an archive any more.
  func release(_ archive: ArchiveInfo, _ lease: UploadLease) {
    perform { [self] in takeBack(archive, lease) }
  }

  private func takeBack(_ archive: ArchiveInfo, _ lease: UploadLease) {
    state.withLock { $0.postpone(archive.fileName) }
    // If that fails, the lease ends by itself.
    try? catalog.release(lease, on: archive)
  }

  /// Gives the maintenance thread a job. After the store's end, does the job here.
  private func perform(_ job: @escaping @Sendable () -> Void) {
    let isOver = state.withLock { state in
      if !state.isOver { state.jobs.append(job) }
      return state.isOver
    }
    if isOver { job() } else { wake() }
  }

  // MARK: - Serving, by the maintenance thread

  /// Takes in which sessions were recovered: their archives come first.
  func note(recovered: [RecoveredSession]) {
    state.withLock { $0.crashed.formUnion(recovered.map(\.identity.session)) }
  }

  /// Does the jobs that wait.
  func doJobs() {
    let jobs = state.withLock { state in
      defer { state.jobs = [] }
      return state.jobs
    }
    for job in jobs { job() }
  }

  /// Gives archives to those who wait.
  ///
  /// - Returns: After how many nanoseconds there may be another archive for those who still wait;
  ///   nil if nobody waits.
  func serve(_ archives: [ArchiveInfo]) -> Int64? {
    let names = Set(archives.map(\.fileName))
    let retries = state.withLock { state in
      state.retries = state.retries.filter { names.contains($0.key) }
      return state.retries
    }
    var rest = inOrder(archives, retries)
    while let request = state.withLock({ $0.requests.first }) {
      guard let archive = take(from: &rest, for: request.lease) else {
        return delay(archives)
      }
      // The request may have been canceled meanwhile: then the archive goes back by itself.
      let isWaiting = state.withLock { state in
        let index = state.requests.firstIndex { $0.key == request.key }
        if let index { state.requests.remove(at: index) }
        return index != nil
      }
      if isWaiting { request.answer.resume(returning: archive) }
    }
    return nil
  }

  /// The archives that may be given out now, in the order in which they are to be given out.
  private func inOrder(_ archives: [ArchiveInfo], _ retries: [String: Backoff]) -> [ArchiveInfo] {
    let died = archives.filter(\.isOfCrash).map(\.session)
    let crashed = state.withLock { $0.crashed }.union(died)
    let now = Timestamp.now
    let ready = archives.filter { archive in
      archive.isSealed && !archive.state.isUploaded && retries[archive.fileName]?.isDue != false
        && archive.state.lease?.isInForce(at: now) != true
    }
    // Archives that were never given out come first. Among equals, those of crashed sessions come
    // first, and then the oldest.
    let ranks = ready.enumerated().map { place, archive in
      (retries[archive.fileName] == nil ? 0 : 1, crashed.contains(archive.session) ? 0 : 1, place)
    }
    return ranks.inOrder(<).map { ready[$0.2] }
  }

  /// Takes the first archive whose lease can be acquired.
  private func take(from archives: inout [ArchiveInfo], for duration: Duration) -> PendingArchive? {
    while !archives.isEmpty {
      let archive = archives.removeFirst()
      let (name, owner) = (archive.fileName, newOwner())
      do throws(LogError) {
        let lease = try catalog.acquireLease(on: archive, by: owner, for: duration)
        state.withLock { state in
          state.isLocked = false
          if lease != nil { state.noteGiven(name) }
        }
        guard let lease else { continue }
        return PendingArchive(archive, lease, self)
      } catch {
        // An archive that a limit has deleted is no trouble.
        if error.code == .missingArchive {
          state.withLock { $0.isLocked = false }
          continue
        }
        // The lease may be noted, though the note is not safe from a power cut.
        let isLocked = error.code == .timedOut
        if !isLocked {
          try? catalog.release(UploadLease(owner: owner, expiry: .now), on: archive)
        }
        let isNews = state.withLock { state in
          defer {
            state.postpone(name)
            state.isLocked = isLocked
          }
          return state.retries[name] == nil && !(isLocked && state.isLocked)
        }
        if isNews { events.send(.notUploaded(archive: archive, error: error)) }
        // The lock would also delay every other archive.
        if isLocked { return nil }
      }
    }
    return nil
  }

  /// An owner for one lease. With one owner for all leases, a lease that has ended would count as
  /// its successor.
  private func newOwner() -> String {
    let number = state.withLock { $0.makeKey() }
    return "\(Host.name()) \(CurrentProcess.id) \(Clock.realtime()) \(number)"
  }

  /// How long it is, in nanoseconds, until one of the archives may be given out, as far as that is
  /// known.
  private func delay(_ archives: [ArchiveInfo]) -> Int64 {
    let (now, retries) = (Timestamp.now, state.withLock { $0.retries })
    let delays = archives.compactMap { archive -> Int64? in
      if !archive.isSealed || archive.state.isUploaded { return nil }
      if let lease = archive.state.lease, lease.isInForce(at: now) {
        return (lease.expiry - now).nanoseconds
      }
      guard let delay = retries[archive.fileName]?.delay else { return nil }
      // Without a delay, the archive has just become due, or has a lease by now: the next pass sees
      // which.
      return delay > 0 ? delay : Self.second
    }
    return delays.min() ?? .max
  }

  private static let second: Int64 = 1_000_000_000

  // MARK: - The end

  /// Lets nobody wait any longer.
  func end() {
    let requests = state.withLock { state in
      defer { state.requests = [] }
      state.isOver = true
      return state.requests
    }
    doJobs()
    for request in requests { request.answer.resume(returning: nil) }
  }
}
