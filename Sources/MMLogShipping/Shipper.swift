public import MMLogReader
import MMLogStorage
import MMLogSystem

/// Ships the records of a directory to a destination: each session's in order, at least once, and
/// once where the receiver drops repeats by ``LogBatch/id``.
///
/// ```swift
/// import MMLogShipping
///
/// func ship(to destination: some LogDestination) throws {
///   let shipper = try Shipper(of: "/var/log/orders", as: "archive", to: destination)
///   try shipper.start()
/// }
/// ```
///
/// The directory's archives are the queue. The shipper needs nothing but the directory, so it runs
/// in the service or in a process beside it. Each consumer, that is, each destination under a name
/// of its own, has a file in the directory with its cursor, and only one shipper at a time works
/// for a consumer: a second one waits. Several consumers of one directory do not wait for each
/// other; each has a filter and edits of its own.
///
/// A shipper has one thread, on which it reads; a destination's functions are called in a task.
/// Nothing is done on a thread that logs.
///
/// **Promise.** The cursor moves when the destination has returned, and never before. Before a
/// batch is sent for the first time, what is in it is noted on the disk, so that after a crash,
/// also of the machine, the same records are sent again under the same id. `docs/SHIPPING.md` has
/// the whole promise.
///
/// Any thread.
public final class Shipper: Sendable {
  /// The directory whose records it ships, as an absolute path.
  public let directory: String
  /// The name of its cursor.
  public let consumer: String
  private let destination: any LogDestination
  let configuration: Configuration
  private let control: ShipperControl
  private let thread = ShipperThread()

  /// Makes a shipper, which does nothing yet.
  ///
  /// - Parameters:
  ///   - directory: The directory of a store, or of several. A relative path is relative to the
  ///     working directory at this call; so is the path of the rings.
  ///   - consumer: The name of the cursor: 1 to 64 letters, digits, `-`, `_` and `.`.
  ///   - destination: Where records are shipped.
  ///   - configuration: How records are shipped.
  /// - Throws: `invalidConfiguration`; `system` if a relative path's working directory is gone.
  public init(
    of directory: String, as consumer: String, to destination: any LogDestination,
    configuration: Configuration = Configuration()
  ) throws(LogError) {
    if let problem = ShippingWork.problem(consumer, configuration) {
      throw LogError(.invalidConfiguration, problem, path: directory)
    }
    var configuration = configuration
    configuration.ringDirectory = try configuration.ringDirectory.map(absolutePath)
    (self.directory, self.consumer) = (try absolutePath(directory), consumer)
    (self.destination, self.configuration) = (destination, configuration)
    control = ShipperControl()
  }

  deinit { control.stop() }

  /// Begins to ship, on a thread of its own. Does nothing if it has begun.
  ///
  /// If something keeps the shipper from working later, such as a directory that is not there,
  /// ``events`` reports it, and the shipper goes on by itself.
  ///
  /// - Throws: `system` if the process cannot start another thread.
  public func start() throws(LogError) {
    do throws(LogError) {
      try thread.start {
        let work = makeWork(isOnce: false)
        control.change { $0.isRunning = true }
        return { [control] in
          work.run()
          control.end()
        }
      }
    } catch {
      control.end()
      throw error
    }
  }

  /// Ships all records that are archived now, and returns when they are acknowledged. It is for a
  /// process that is started for this alone. Do not use it together with ``start()``.
  ///
  /// If the receiver is not there, the shipper waits for it as the retry rule says. When the task
  /// is canceled, this returns soon.
  ///
  /// - Returns: Whether everything is acknowledged. False if the task was canceled, ``cancel()``
  ///   was called, or an archive cannot be read; see ``Event/failed(error:)``.
  /// - Throws: What keeps the shipper from working, such as a directory that is not there, or
  ///   another shipper for the same consumer.
  public func shipAll() async throws(LogError) -> Bool {
    try await run { (work) throws(LogError) in try work.runOnce() }
  }

  /// Sends again the records that were put aside because the receiver had refused them, and returns
  /// when they are settled. Do not use it together with ``start()``.
  ///
  /// - Throws: As ``shipAll()``; also if nothing was ever shipped under the consumer's name.
  public func retryRefused() async throws(LogError) -> RetriedRecords {
    try await run { (work) throws(LogError) in try work.retryRefused() }
  }

  /// Runs `body` on a thread of its own.
  private func run<Answer: Sendable>(
    _ body: @escaping @Sendable (ShippingWork) throws(LogError) -> Answer
  ) async throws(LogError) -> Answer {
    let work = makeWork(isOnce: true)
    return try await onOwnThread(
      "mmlog-ship", explaining: "Starting the shipper's thread failed", canceledBy: cancel
    ) { () throws(LogError) in try body(work) }
  }

  private func makeWork(isOnce: Bool) -> ShippingWork {
    ShippingWork(directory, consumer, destination, configuration, control, isOnce: isOnce)
  }

  /// Sends nothing more until ``resume()``. A batch that is on its way is finished.
  public func suspend() { control.change { $0.isSuspended = true } }

  /// Goes on after ``suspend()``. A batch that waits for its next try is sent at once.
  public func resume() {
    control.change { ($0.isSuspended, $0.isHurried) = (false, true) }
  }

  /// Makes the shipper soon send all records that were logged before this call, and waits until
  /// they are acknowledged. It asks processes that log into the directory to archive what is in
  /// their rings, and makes batches without waiting for more records.
  ///
  /// - Parameter limit: How long to wait at most.
  /// - Returns: Whether all of these records are acknowledged; also false if the shipper was not
  ///   started.
  public func flush(within limit: Duration) async -> Bool {
    await control.flush(within: limit)
  }

  /// Ends the thread, and waits for it. If the destination is sending, its task is canceled and
  /// waited for; the next shipper sends its batch again. A stopped shipper does not begin again.
  public func stop() async {
    cancel()
    await thread.waitForEnd()
    control.finishEvents()
  }

  /// Asks the thread to end soon, and does not wait for it.
  public func cancel() { control.stop() }

  /// Finds out whether the receiver answers, as ``LogDestination/check()`` does.
  ///
  /// - Throws: ``DeliveryError``.
  public func check() async throws {
    do { try await destination.check() } catch { throw DeliveryError(error) }
  }

  /// Its numbers, as of its last pass.
  public var statistics: Statistics { control.statistics.withLock { $0 } }

  /// What happens from now on. The stream ends when the shipper is stopped or deinitialized, and at
  /// once if that has happened before. If it is read too slowly, the oldest events are dropped, and
  /// 1000 stay.
  public var events: AsyncStream<Event> { control.makeEvents() }
}
