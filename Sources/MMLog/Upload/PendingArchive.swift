public import MMLogStorage
import Synchronization

/// An archive to be handed on, given to one uploader: see ``LogStore/pendingArchives``.
///
/// The archive is leased to whoever has this object. When the last reference goes away, an archive
/// that was neither marked nor released is released. Any thread.
public final class PendingArchive: Sendable {
  /// What is known of the archive. It does not change while the lease lasts.
  public let info: ArchiveInfo
  /// Where the archive is.
  public var path: String { info.path }
  let lease: UploadLease
  private let queue: UploadQueue
  private let isSettled = Atomic<Bool>(false)

  init(_ info: ArchiveInfo, _ lease: UploadLease, _ queue: UploadQueue) {
    (self.info, self.lease, self.queue) = (info, lease, queue)
  }

  deinit { release() }

  /// Sends the archive, and then marks it as uploaded. If `send` or the mark throws, the archive is
  /// released, and ``LogStore/Event/notUploaded(archive:error:)`` has the error. A failure ends no
  /// loop.
  ///
  /// - Parameters:
  ///   - isolation: Where `send` runs. Default: where the caller runs.
  ///   - send: Receives the path of the file, and returns when the archive is where it should be.
  ///     It should take no longer than the lease.
  public func upload(
    isolation: isolated (any Actor)? = #isolation, _ send: (String) async throws -> Void
  ) async {
    do {
      try await send(path)
      try await markUploaded()
    } catch {
      queue.events.send(.notUploaded(archive: info, error: error))
      release()
    }
  }

  /// Marks the archive as uploaded: nobody gets it again, and it is the first to be deleted when a
  /// limit asks for that.
  ///
  /// - Parameter receipt: Text that is kept with the mark; see
  ///   ``LogStore/markUploaded(_:receipt:)``. Default: nil, no receipt.
  /// - Throws: ``LogError``, as ``LogStore/markUploaded(_:receipt:)`` does. The archive is released
  ///   then.
  public func markUploaded(receipt: String? = nil) async throws(LogError) {
    if isSettled.exchange(true, ordering: .acquiringAndReleasing) { return }
    try await queue.markUploaded(info, lease, receipt: receipt)
  }

  /// Releases the archive at once: it comes again after a while. Does nothing once the archive is
  /// marked. Waits for nothing while the store is open; after that, waits for the lock of the
  /// store's directory.
  public func release() {
    if isSettled.exchange(true, ordering: .acquiringAndReleasing) { return }
    queue.release(info, lease)
  }
}
