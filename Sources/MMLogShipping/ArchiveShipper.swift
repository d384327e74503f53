import MMLogFormat
import MMLogReader
public import MMLogStorage
import MMLogSystem

/// Ships the sealed archives of a directory as they are: those of crashed sessions first, then the
/// oldest.
///
/// An archive that is shipped is marked as uploaded, with the destination's receipt, and is then
/// the first to be deleted when a limit asks for it. Shippers on any machines may share a
/// directory: each archive is leased to one of them.
///
/// Any thread.
public final class ArchiveShipper: Sendable {
  /// How archives are shipped.
  public struct Configuration: Sendable {
    /// How long an archive is leased; the shipper renews the lease while the destination sends. If
    /// the shipper dies, other shippers can lease the archive after this time. From a second to a
    /// day; default ten minutes.
    public var lease = Duration.seconds(600)
    /// When to try again after a failure. Default: forever, with growing pauses.
    public var retry = RetryRule.forever()
    /// How long to wait after ``DeliveryError/blocked(_:)``, and before an archive that cannot be
    /// read here is tried again. Default a minute.
    public var blockedPause = Duration.seconds(60)
    /// How often the directory is scanned for sealed archives. Default a second.
    public var scanInterval = Duration.seconds(1)

    /// The values of an ordinary shipper.
    public init() {}
  }

  /// What happens while archives are shipped.
  @nonexhaustive
  public enum Event: Sendable {
    /// An archive is shipped, and marked.
    case shipped(ArchiveInfo, receipt: String?)
    /// A try has failed; the next one follows after `delay`.
    case retrying(ArchiveInfo, attempt: Int, error: DeliveryError, delay: Duration)
    /// The receiver has refused an archive: it is not sent again until
    /// ``ArchiveShipper/retryRefused()``, or until its attribute
    /// ``ArchiveShipper/refusedAttribute`` is removed.
    case refused(ArchiveInfo, reason: String)
    /// The shipper cannot work at the moment, or cannot read or mark an archive; it tries again.
    /// Reported once for each archive and reason.
    case failed(LogError)
  }

  /// The attribute that says why the receiver has refused an archive.
  public static let refusedAttribute = "refused"

  /// The directory, as an absolute path.
  public let directory: String
  private let destination: any ArchiveDestination
  private let configuration: Configuration
  private let catalog: Catalog
  private let isStopping = LockedValue(false)
  private let wakeups = EventCount()
  private let thread = ShipperThread()
  private let listener: AsyncStream<Event>.Continuation

  /// What happens, until the shipper is stopped or deinitialized; for one reader. If it reads too
  /// slowly, only the newest 1000 events are kept.
  public let events: AsyncStream<Event>

  /// Makes a shipper, which does nothing yet.
  ///
  /// - Parameters:
  ///   - directory: The directory of a store, or of several. A relative path is relative to the
  ///     working directory at this call.
  ///   - destination: Where archives are shipped.
  ///   - configuration: How archives are shipped.
  /// - Throws: `invalidConfiguration`; `system` if a relative path's working directory is gone.
  public init(
    of directory: String, to destination: any ArchiveDestination,
    configuration: Configuration = Configuration()
  ) throws(LogError) {
    guard (.seconds(1)...UploadLease.longest).contains(configuration.lease),
      configuration.blockedPause > .zero, configuration.scanInterval > .zero
    else {
      throw LogError(
        .invalidConfiguration,
        "The archive shipper's configuration is wrong: a lease is from a second to a day, and "
          + "pauses are positive", path: directory)
    }
    self.directory = try absolutePath(directory)
    (self.destination, self.configuration) = (destination, configuration)
    catalog = Catalog(of: self.directory, store: nil)
    (events, listener) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1000))
  }

  deinit { listener.finish() }

  /// Begins to ship, on a thread of its own. Does nothing if it has begun.
  ///
  /// - Throws: `system` if the process cannot start another thread.
  public func start() throws(LogError) {
    try thread.start { run }
  }

  /// Ships all archives that are sealed now, and returns when each is shipped, refused, or leased
  /// to another shipper. Do not use it together with ``start()``.
  ///
  /// - Returns: How many were shipped.
  /// - Throws: What keeps the directory from being read; or, after all other archives are shipped,
  ///   what keeps an archive from being shipped. Of several such errors this throws the first, and
  ///   ``events`` has the others.
  public func shipAll() async throws(LogError) -> Int {
    try await onOwnThread(
      "mmlog-ship", explaining: "Starting the shipper's thread failed", canceledBy: cancel
    ) { [self] () throws(LogError) in
      var failing: [String: Failure] = [:]
      let (count, problems) = try pass(&failing)
      for problem in problems.dropFirst() { listener.yield(.failed(problem)) }
      if let problem = problems.first { throw problem }
      return count
    }
  }

  /// Ends the thread, and waits for it. If the destination is sending, its task is canceled and the
  /// archive's lease released.
  public func stop() async {
    cancel()
    await thread.waitForEnd()
    listener.finish()
  }

  /// Asks the thread to end soon, and does not wait for it. Until then, a shipper that was started
  /// works on, even if nothing refers to it.
  public func cancel() {
    isStopping.withLock { $0 = true }
    wakeups.advance()
  }

  private var isStopped: Bool { isStopping.withLock { $0 } }

  // MARK: - The thread

  private func run() {
    var (lastFailure, failing) = ("", [String: Failure]())
    while !isStopped {
      do throws(LogError) {
        for problem in try pass(&failing).problems { listener.yield(.failed(problem)) }
        lastFailure = ""
      } catch {
        if error.message != lastFailure { listener.yield(.failed(error)) }
        lastFailure = error.message
      }
      wait(configuration.scanInterval.nanoseconds)
    }
  }

  private func wait(_ nanoseconds: Int64) {
    let deadline = Deadline(after: nanoseconds)
    while true {
      let seen = wakeups.current
      let left = deadline.left
      if isStopped || left == 0 { return }
      wakeups.wait(since: seen, atMost: left)
    }
  }

  /// Why an archive could not be shipped, for a reason that is not the receiver's, and when the
  /// archive is tried again, by the monotonic clock.
  private struct Failure {
    let error: LogError
    var next: UInt64 = 0
  }

  /// Ships the waiting archives, one after the other. An archive that cannot be read or marked does
  /// not delay the others.
  ///
  /// - Parameter failing: The archives that could not be shipped before, by path.
  /// - Returns: How many archives were shipped, and the problems of others that are new since the
  ///   last pass, in the order of their paths.
  /// - Throws: What keeps the directory from being read.
  private func pass(
    _ failing: inout [String: Failure]
  ) throws(LogError) -> (count: Int, problems: [LogError]) {
    var (count, failed) = (0, [String: Failure]())
    let (archives, unreadable) = try scan()
    for error in unreadable { failed[error.path] = Failure(error: error) }
    for archive in archives where !isStopped {
      if let known = failing[archive.path], Clock.monotonic() < known.next {
        failed[archive.path] = known
        continue
      }
      do throws(LogError) {
        if try ship(archive) { count += 1 }
      } catch  where error.code == .missingArchive || error.code == .changedArchive {
        // A limit has deleted the archive, or a store goes on writing to it.
      } catch {
        let next = Clock.monotonic() &+ UInt64(configuration.blockedPause.nanoseconds)
        failed[archive.path] = Failure(error: error, next: next)
      }
    }
    let new = failed.filter { failing[$0.key]?.error.message != $0.value.error.message }
    failing = failed
    return (count, new.sorted { $0.key < $1.key }.map(\.value.error))
  }

  /// Returns the archives that would be shipped now, in order: those that are sealed, and neither
  /// shipped nor refused.
  ///
  /// - Throws: What keeps the directory or an archive from being read.
  /// - Complexity: one system call for each archive that was seen before, some ten for each new
  ///   one.
  public func waiting() throws(LogError) -> [ArchiveInfo] {
    let (archives, unreadable) = try scan()
    if let error = unreadable.first { throw error }
    return archives
  }

  /// Returns the archives of ``waiting()``, and why other archives cannot be read.
  private func scan() throws(LogError) -> (waiting: [ArchiveInfo], unreadable: [LogError]) {
    var unreadable: [LogError] = []
    let all = try catalog.scan { error in
      unreadable.append(LogError(error, while: "Reading an archive failed"))
    }
    let archives = all.filter {
      $0.isSealed && !$0.state.isUploaded && !Self.isRefused($0)
    }
    let crashed = archives.filter(\.isOfCrash)
    return (crashed + archives.filter { !$0.isOfCrash }, unreadable)
  }

  /// Returns the archives that the receiver has refused, the oldest first.
  ///
  /// - Throws: What keeps the directory from being read.
  /// - Complexity: one system call for each archive that was seen before, some ten for each new
  ///   one.
  public func refused() throws(LogError) -> [ArchiveInfo] {
    try catalog.scan().filter(Self.isRefused)
  }

  /// Whether a receiver has refused the archive, and no receiver has it.
  package static func isRefused(_ archive: ArchiveInfo) -> Bool {
    !archive.state.isUploaded && archive.state.attributes[refusedAttribute] != nil
  }

  /// Ships the refused archives again, after the cause of the refusals is fixed, and all other
  /// archives that wait. Do not use it together with ``start()``.
  ///
  /// - Returns: How many archives were shipped.
  /// - Throws: What keeps the directory from being read, or the refusals from being taken back.
  public func retryRefused() async throws(LogError) -> Int {
    for archive in try refused() {
      do throws(LogError) {
        try catalog.setAttribute(nil, for: Self.refusedAttribute, on: archive)
      } catch  where error.code == .missingArchive {
        // A limit has deleted it.
      }
    }
    return try await shipAll()
  }

  /// - Returns: Whether the archive is shipped.
  private func ship(_ archive: ArchiveInfo) throws(LogError) -> Bool {
    // The file header is read before the lease: an archive without a valid one is not sent.
    let identity = try ArchiveInfo.identity(ofArchiveAt: archive.path)
    var attempt = 1
    guard var lease = try acquire(archive) else { return false }
    defer { try? catalog.release(lease, on: archive) }
    while !isStopped {
      let sealed = SealedArchive(info: archive, identity: identity, attempt: attempt)
      switch try send(sealed, renewing: &lease) {
      case nil: return false
      case .success(let receipt):
        let line = receipt.map { ArchiveInfo.State.line($0) }
        try catalog.markUploaded(archive, receipt: line)
        listener.yield(.shipped(archive, receipt: line))
        return true
      case .failure(let error):
        let delay: Duration?
        switch error.remedy {
        case .halve, .makeSmaller: delay = nil
        case .waitForAction: delay = configuration.blockedPause
        case .tryAgain(let retryAfter):
          delay = configuration.retry.delay(
            RetryRule.Attempt(count: attempt, retryAfter: retryAfter, error: error))
        }
        guard let delay else {
          let reason = ArchiveInfo.State.line(error.message.first200)
          try catalog.setAttribute(reason, for: Self.refusedAttribute, on: archive)
          listener.yield(.refused(archive, reason: error.message))
          return false
        }
        listener.yield(.retrying(archive, attempt: attempt, error: error, delay: delay))
        guard try pause(delay, archive, &lease) else { return false }
        attempt += 1
      }
    }
    return false
  }

  /// Waits, and keeps the lease meanwhile.
  ///
  /// - Returns: False if another shipper has the lease by now.
  private func pause(
    _ delay: Duration, _ archive: ArchiveInfo, _ lease: inout UploadLease
  ) throws(LogError) -> Bool {
    var rest = delay
    while rest > .zero, !isStopped {
      let part = min(rest, configuration.lease / 3)
      wait(part.nanoseconds)
      rest -= part
      guard let renewed = try acquire(archive, lease.owner) else { return false }
      lease = renewed
    }
    return true
  }

  private func acquire(
    _ archive: ArchiveInfo, _ owner: String? = nil
  ) throws(LogError) -> UploadLease? {
    // Each lease has an owner of its own. With one owner for all, a lease that has ended would be
    // taken for its successor.
    let owner = owner ?? "\(Host.name()) \(CurrentProcess.id) \(Clock.realtime())"
    return try catalog.acquireLease(on: archive, by: owner, for: configuration.lease)
  }

  /// - Returns: Nil if another shipper has the lease by now.
  /// - Throws: Why the destination cannot read the archive, or why the lease could not be renewed
  ///   before it ended.
  private func send(
    _ archive: SealedArchive, renewing lease: inout UploadLease
  ) throws(LogError) -> Result<String?, DeliveryError>? {
    let promise = Promise<Result<Result<String?, DeliveryError>, LogError>>()
    let task = Task.detached { [destination] in
      do {
        promise.fulfill(.success(.success(try await destination.send(archive))))
      } catch let error as LogError {
        promise.fulfill(.failure(error))
      } catch {
        promise.fulfill(.success(.failure(DeliveryError(error))))
      }
    }
    let interval = UInt64((configuration.lease / 3).nanoseconds)
    var (renewal, isLost) = (Clock.monotonic() + interval, false)
    var failure: LogError?
    while true {
      if let result = promise.wait(atMost: 50_000_000) {
        let answer = try result.get()
        if !isLost { return answer }
        // The destination was done before it was canceled: that counts if nobody else has the
        // lease.
        if case .success = answer, let own = try acquire(archive.info, lease.owner) {
          lease = own
          return answer
        }
        if let failure { throw failure }
        return nil
      }
      if isStopped { task.cancel() }
      if !isLost, Clock.monotonic() >= renewal {
        renewal += interval
        do throws(LogError) {
          let renewed = try acquire(archive.info, lease.owner)
          if let renewed { lease = renewed }
          (isLost, failure) = (renewed == nil, nil)
        } catch {
          // Until the lease ends, it is still this shipper's.
          renewal = Clock.monotonic() + min(interval, 1_000_000_000)
          (isLost, failure) = (lease.expiry <= .now, error)
        }
        if isLost { task.cancel() }
      }
    }
  }
}
