package import MMLogFormat
package import MMLogSystem

/// What went wrong with a log's files, and what to do about it.
public struct LogError: Error, CustomStringConvertible, Sendable {
  /// The kind of a failure. More kinds may come.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The code's name.
    public let description: String

    /// A setting is out of its range, or two contradict each other.
    public static let invalidConfiguration = Code(description: "invalidConfiguration")
    /// The system refused something: permission, space, a missing or a wrong file.
    public static let system = Code(description: "system")
    /// There is no space left for the ring or the archive.
    public static let outOfSpace = Code(description: "outOfSpace")
    /// The file was written by a newer version of mmlog.
    public static let newerFormat = Code(description: "newerFormat")
    /// The file was written by an mmlog from before the first release, in a format that nothing
    /// reads any more.
    public static let olderFormat = Code(description: "olderFormat")
    /// The file is not one of mmlog's.
    public static let foreignFile = Code(description: "foreignFile")
    /// The file is corrupted so far that nothing of it can be read.
    public static let corruptedFile = Code(description: "corruptedFile")
    /// The machine lacks something that mmlog needs.
    public static let unsupported = Code(description: "unsupported")
    /// Something took longer than it was allowed to.
    public static let timedOut = Code(description: "timedOut")
    /// Users other than the process's own could replace what is in the directory.
    public static let untrustedDirectory = Code(description: "untrustedDirectory")
    /// The file belongs to another user, who may have planted it in a directory where everybody can
    /// make files; or others may write the file there.
    public static let foreignOwner = Code(description: "foreignOwner")
    /// The archive is not there any more.
    public static let missingArchive = Code(description: "missingArchive")
    /// The archive must not be removed: it is being written, pinned or leased, or a recovery needs
    /// it.
    public static let archiveInUse = Code(description: "archiveInUse")
    /// The archive has changed since it was listed.
    public static let changedArchive = Code(description: "changedArchive")
    /// An attribute or a receipt cannot be noted on an archive as it is.
    public static let invalidAttribute = Code(description: "invalidAttribute")
    /// The file is encrypted, and none of the given identities opens it.
    public static let encrypted = Code(description: "encrypted")
    /// The store was closed before.
    public static let closed = Code(description: "closed")
  }

  /// The kind of failure, for programs.
  public var code: Code { content.code }
  /// What failed and how to fix it, for people. It names the path.
  public var message: String { content.message }
  /// The file or directory that the error is about; empty if none.
  public var path: String { content.path }
  /// The error number of the system call behind it, or 0.
  public var systemErrorNumber: Int32 { content.systemErrorNumber }
  /// The error that caused this one, if there was one: of a system call, of a file's bytes, or one
  /// that the program's own code threw.
  public var cause: (any Error)? { content.cause }

  // One word: each call that may throw has code that moves the error on, and a whole error would be
  // nine words.
  private let content: Content

  private final class Content: Sendable {
    let code: Code
    let message: String
    let path: String
    let systemErrorNumber: Int32
    let cause: (any Error)?

    init(
      _ code: Code, _ message: String, path: String, systemErrorNumber: Int32,
      cause: (any Error)?
    ) {
      self.code = code
      self.message = message
      self.path = path
      self.systemErrorNumber = systemErrorNumber
      self.cause = cause
    }
  }

  package init(
    _ code: Code, _ message: String, path: String = "", systemErrorNumber: Int32 = 0,
    cause: (any Error)? = nil
  ) {
    content = Content(
      code, message, path: path, systemErrorNumber: systemErrorNumber, cause: cause)
  }

  /// The message.
  public var description: String { message }
}

extension LogError {
  /// An error for a system call that failed while doing `what`, with the fix for the common causes.
  package init(_ error: SystemError, while what: String) {
    self.init(
      error.isOutOfSpace ? .outOfSpace : .system, "\(what): \(error). \(error.fix)",
      path: error.path, systemErrorNumber: error.errno, cause: error)
  }

  /// Makes an error of any other: the same if it is a ``LogError``, else one that says what failed.
  ///
  /// - Parameter path: The path for an error that does not name one.
  package init(_ error: any Error, while what: String, path: String) {
    switch error {
    case let error as LogError: self = error
    case let error as SystemError: self.init(error, while: what)
    case let error as FormatError: self.init(error, path: path)
    default: self.init(.system, "\(error)", path: path, cause: error)
    }
  }

  /// An error for an archive that is gone.
  package static func missingArchive(_ path: String) -> LogError {
    LogError(.missingArchive, "The archive \(path) is not there any more", path: path)
  }

  /// An error for a file that cannot be read at all.
  package init(_ error: FormatError, path: String) {
    let code: Code =
      switch error {
      case .newerFormat: .newerFormat
      case .olderFormat: .olderFormat
      case .foreign: .foreignFile
      case .encrypted: .encrypted
      default: .corruptedFile
      }
    self.init(code, "\(path) cannot be read: \(error)", path: path, cause: error)
  }
}

/// As ``CurrentProcess/absolutePath(_:)``, with an error that says what to do.
package func absolutePath(_ path: String) throws(LogError) -> String {
  try explaining("Finding out where \(path) begins failed; give an absolute path") {
    () throws(SystemError) in try CurrentProcess.absolutePath(path)
  }
}

/// Runs `body`. If the system refuses something in it, the error says what failed.
///
/// - Parameter what: A clause such as "Opening the directory failed".
package func explaining<Result: ~Copyable>(
  _ what: @autoclosure () -> String, _ body: () throws(SystemError) -> Result
) throws(LogError) -> Result {
  do { return try body() } catch { throw LogError(error, while: what()) }
}

/// Runs a blocking body on a thread of its own, while a task waits for it: the body takes none of
/// the threads that tasks run on.
///
/// - Parameters:
///   - name: The thread's name.
///   - what: What has failed if there is no thread, as for ``explaining(_:_:)``.
///   - cancel: Is called when the task is canceled; `body` should then soon return.
package func onOwnThread<Value: Sendable>(
  _ name: String, explaining what: String, canceledBy cancel: @escaping @Sendable () -> Void = {},
  _ body: @escaping @Sendable () throws(LogError) -> Value
) async throws(LogError) -> Value {
  let result: Result<Value, LogError>
  do throws(SystemError) {
    result = try await onOwnThread(name, canceledBy: cancel) { Result(catching: body) }
  } catch {
    throw LogError(error, while: what)
  }
  return try result.get()
}
