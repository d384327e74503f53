public import MMLogStorage
import Synchronization

/// An archive to be handed on, given to one uploader: see ``LogStore/pendingArchives``.
///
/// It is leased to whoever has this object. When the last reference goes away, and nothing was said
/// of the archive, it is released.
public final class PendingArchive: Sendable {
  /// What is known of the archive. It does not change while the lease lasts.
  public let info: ArchiveInfo
  /// Where it is.
  public var path: String { info.path }
  let lease: UploadLease
  private let queue: UploadQueue
  private let isSettled = Atomic<Bool>(false)

  init(_ info: ArchiveInfo, _ lease: UploadLease, _ queue: UploadQueue) {
    (self.info, self.lease, self.queue) = (info, lease, queue)
  }

  deinit { release() }

  /// Sends the archive, and marks it as uploaded when that is done. If it fails, the archive is
  /// released, and ``LogStore/Event/notUploaded(archive:error:)`` says why: nothing ends because of
  /// it.
  ///
  /// - Parameters:
  ///   - isolation: Where `send` runs: where the caller does.
  ///   - send: Is given the path of the file, and returns when the archive is where it should be.
  ///     Should take no longer than the lease.
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

  /// Marks it as uploaded: it is not given to anybody again, and is the first to be deleted when a
  /// limit asks for it.
  ///
  /// - Parameter receipt: Is kept with the mark; see ``LogStore/markUploaded(_:receipt:)``. Nil,
  ///   the default: none.
  /// - Throws: ``LogError``: as ``LogStore/markUploaded(_:receipt:)``. It is released then.
  public func markUploaded(receipt: String? = nil) async throws(LogError) {
    if isSettled.exchange(true, ordering: .acquiringAndReleasing) { return }
    try await queue.markUploaded(info, lease, receipt: receipt)
  }

  /// Releases it at once: it comes again after a while. Does nothing once it is marked. Waits for
  /// nothing while the store is open; afterwards, for the lock of its directory.
  public func release() {
    if isSettled.exchange(true, ordering: .acquiringAndReleasing) { return }
    queue.release(info, lease)
  }
}
