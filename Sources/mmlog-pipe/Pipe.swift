import CommandLineTool
import Glibc
import LogCommands
import MMLog
import MMLogSystem

/// Moves lines from standard input into a log.
struct Pipe {
  private let store: LogStore
  private let log: Logger
  private let level: Level
  private let levels: LevelSource?
  private let joiner: LineJoiner?
  private let takesFields: Bool
  /// Whether no rule applies to lines.
  private let isPlain: Bool
  /// The level of the line that is recorded in pieces.
  private var levelOfPieces = Level.info

  init(_ arguments: Arguments) throws {
    var configuration = LogStore.Configuration()
    configuration.level = .trace
    // The writer at the other end of the pipe waits, as it would for any slow reader.
    configuration.fullRing = .wait(upTo: .seconds(365 * 86400))
    // The writer waits for a slow coder in the same way.
    configuration.reducesCompression = false
    configuration.ringSize = (try arguments.integer(of: .ringSize, in: 1...4096) ?? 8) << 20
    let rotationSize = (try arguments.integer(of: .rotationSize, in: 0...(1 << 20)) ?? 64) << 20
    configuration.rotation.size = rotationSize > 0 ? rotationSize : nil
    configuration.retention = try arguments.retention(configuration.retention)
    configuration.ringDirectory = arguments.value(of: .ringDirectory)
    configuration.recipients = try arguments.recipients(of: .recipient)
    configuration.hashChain = arguments.isSet(.hashChain)
    levels = try arguments.value(of: .levelFrom).map { text throws(UsageError) in
      try LevelSource(text)
    }
    joiner = try arguments.value(of: .join).map { text throws(UsageError) in try LineJoiner(text) }
    takesFields = arguments.isSet(.fields)
    isPlain = levels == nil && !takesFields
    let name = arguments.required(.name)
    level = Level(name: arguments.required(.level)) ?? .info
    // The environment's level for services does not count: everything that comes through is to be
    // kept.
    unsetenv("MMLOG_LEVEL")
    do throws(LogError) {
      store = try LogStore(
        directory: arguments.required(.directory), name: name, configuration: configuration)
    } catch {
      let error = error.withoutAdvice
      if error.code == .invalidConfiguration { throw UsageError(error.message) }
      throw error
    }
    store.setLevel(.trace, for: "*")
    log = store.logger(label: arguments.value(of: .label) ?? name)
  }

  /// Records lines until the input ends or a signal asks to stop.
  ///
  /// - Parameter tee: Where the input goes after it has been recorded.
  /// - Throws: What kept the input from being read to its end, or passed on; what was read is kept
  ///   even then.
  mutating func run(tee: StandardOutput?) throws -> Program.Status {
    let input = try StoppableInput()
    var lines = LineSplitter(longest: Logger.longestLine, joiner: joiner)
    var tee = tee
    var failure: (any Error)?
    // The record that more lines may belong to, and since when.
    var pending = (record: -1, since: ContinuousClock.now)
    func passOn() {
      do {
        try tee?.append(RawSpan(_unsafeBytes: lines.takeGiven()))
        try tee?.flush()
      } catch {
        // The lines are still to be recorded.
        (failure, tee) = (error, nil)
      }
    }
    do {
      while true {
        if let number = lines.pendingRecord, try hasEnded(number, &pending, input) {
          lines.endPending { record($0) }
          passOn()
        }
        guard let count = try input.read(into: lines.space) else { break }
        lines.add(count)
        lines.forEachRecord { record($0) }
        passOn()
      }
    } catch {
      failure = error
    }
    lines.finish { record($0) }
    passOn()
    try close()
    if let failure { throw failure }
    return store.losses.isEmpty ? .success : .failure
  }

  private func close() throws {
    try store.close()
    if store.losses.isEmpty { return }
    StandardError.write("mmlog-pipe: records were lost or cut; mmlog-decode says how many\n")
  }

  /// Whether the pending record has waited long enough for more lines.
  private func hasEnded(
    _ record: Int, _ pending: inout (record: Int, since: ContinuousClock.Instant),
    _ input: borrowing StoppableInput
  ) throws(SystemError) -> Bool {
    let now = ContinuousClock.now
    if pending.record != record { pending = (record, now) }
    if now - pending.since >= LineJoiner.longest { return true }
    return try !input.isReady(within: LineJoiner.patience)
  }

  private mutating func record(_ line: Line) {
    let isTerminated = line.end == .newline
    if isPlain { return log.record(line: line.bytes, level, isTerminated: isTerminated) }
    // The rules are about whole lines.
    if !line.isBeginning {
      return log.record(line: line.bytes, levelOfPieces, isTerminated: isTerminated)
    }
    let takesApart = takesFields && line.end != .piece
    // A line that is taken apart is read only once: this finds its level, too.
    if takesApart, let jsonLevels, let object = JSONLine(line.bytes, levels: jsonLevels) {
      return record(object, level)
    }
    let (found, message) = levels?.read(line.bytes) ?? (nil, line.bytes)
    if takesApart, jsonLevels == nil, let object = JSONLine(message, levels: nil) {
      return record(object, found ?? level)
    }
    levelOfPieces = found ?? level
    log.record(line: message, levelOfPieces, isTerminated: isTerminated)
  }

  private func record(_ object: JSONLine, _ level: Level) {
    log.log(
      level: object.level ?? level, text: object.message, metadata: object.fields, at: .none)
  }

  private var jsonLevels: LevelSource? {
    if case .json = levels?.kind { levels } else { nil }
  }
}

extension LogError {
  /// The error without advice that only programmers can follow.
  fileprivate var withoutAdvice: LogError {
    let ends = [
      (Self.allowingAdvice, "."),
      (Self.encryptionAdvice + ".", ", which this program was built without."),
    ]
    guard let (advice, other) = ends.first(where: { message.hasSuffix($0.0) }) else { return self }
    return LogError(code, message.dropLast(advice.count) + other, path: path)
  }
}

extension Logger.SourceLocation {
  /// Nobody knows where a line was logged.
  fileprivate static let none = Self(file: "", function: "", line: 0)
}
