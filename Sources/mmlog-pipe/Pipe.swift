import CommandLineTool
import MMLog
import MMLogSystem

/// Moves lines from standard input into a log.
struct Pipe {
  private let store: LogStore
  private let log: Logger
  private let level: Level

  init(_ arguments: Arguments) throws {
    var configuration = LogStore.Configuration()
    configuration.level = .trace
    // The writer at the other end of the pipe waits, as it would for any slow reader.
    configuration.fullRing = .wait(upTo: .seconds(365 * 86400))
    // So it would for any slow coder.
    configuration.reducesCompression = false
    configuration.ringSize = (try arguments.integer(of: .ringSize, in: 1...4096) ?? 8) << 20
    let rotationSize = (try arguments.integer(of: .rotationSize, in: 0...(1 << 20)) ?? 64) << 20
    configuration.rotation.size = rotationSize > 0 ? rotationSize : nil
    configuration.ringDirectory = arguments.value(of: .ringDirectory)
    configuration.recipients = try arguments.values(of: .recipient).map { text in
      do throws(RecipientError) { return try Recipient(text) } catch {
        throw UsageError("--recipient: \(error)")
      }
    }
    configuration.hashChain = arguments.isSet(.hashChain)
    let name = arguments.required(.name)
    level = Level(name: arguments.required(.level)) ?? .info
    store = try LogStore(
      directory: arguments.required(.directory), name: name, configuration: configuration)
    // Whatever the environment says to services: all that comes through is to be kept.
    store.setLevel(.trace, for: "*")
    log = store.logger(label: arguments.value(of: .label) ?? name)
  }

  /// Records lines until the input ends or a signal asks to stop.
  ///
  /// - Parameter tee: Where the input is passed on to, after it has been recorded.
  /// - Throws: what kept the input from being read to its end, or passed on; what was read is kept
  ///   then too.
  func run(tee: StandardOutput?) throws -> Program.Status {
    let input = try StoppableInput()
    var lines = LineSplitter(longest: Logger.longestLine)
    var tee = tee
    var failure: (any Error)?
    do {
      while let count = try input.read(into: lines.space) {
        let new = lines.add(count)
        lines.forEachLine { record($0, isTerminated: $1) }
        do {
          try tee?.append(RawSpan(_unsafeBytes: new))
          try tee?.flush()
        } catch {
          // The lines are still to be recorded.
          (failure, tee) = (error, nil)
        }
      }
    } catch {
      failure = error
    }
    lines.finish { record($0, isTerminated: $1) }
    try close()
    if let failure { throw failure }
    return store.losses.isEmpty ? .success : .failure
  }

  private func close() throws {
    try store.close()
    if store.losses.isEmpty { return }
    StandardError.write("mmlog-pipe: records were lost or cut; mmlog-decode says how many\n")
  }

  private func record(_ line: UnsafeRawBufferPointer, isTerminated: Bool) {
    log.record(line: line, level, isTerminated: isTerminated)
  }
}
