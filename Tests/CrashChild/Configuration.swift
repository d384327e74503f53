import CommandLineTool
import CrashRecords
import MMLog

extension LogStore.Configuration {
  init(_ arguments: Arguments) throws {
    self.init()
    func kibibytes(_ option: Option) throws -> Int {
      (try arguments.integer(of: option, in: 0...(1 << 20)) ?? 0) << 10
    }
    ringSize = try kibibytes(.ring)
    segmentSize = try kibibytes(.segment)
    dictionarySize = try kibibytes(.dictionary)
    let rotationSize = try kibibytes(.archive)
    self.rotation.size = rotationSize > 0 ? rotationSize : nil
    // No limits, whatever space the machine has left.
    retention = .unlimited
    retention.count = try arguments.integer(of: .keep, in: 0...1_000_000)
      .flatMap { $0 > 0 ? $0 : nil }
    resumeLastArchive = arguments.isSet(.resume)
    compressionLevel = try arguments.integer(of: .level, in: 0...9) ?? 1
    drainThreads = try arguments.integer(of: .drainThreads, in: 1...2) ?? 1
    ringDirectory = arguments.value(of: .rings)
    if let recipient = arguments.value(of: .recipient) { recipients = [try Recipient(recipient)] }
    hashChain = arguments.isSet(.hashChain)
    drainInterval = .milliseconds(10)
    fullRing =
      switch arguments.required(.policy) {
      case "drop": .dropNewest
      case "overwrite": .overwriteOldest
      default: .wait(upTo: .seconds(100))
      }
    servesSignalHandlers = arguments.isSet(.signals)
    level = .trace
    fields = LaneContext.sessionFields
    recordsCrashes = arguments.isSet(.crashes)
    if let flight = arguments.value(of: .flight) {
      archiveLevel = .info
      captureLevel = Logger.Level(name: flight)
    }
    if arguments.isSet(.spanCapture) { spanCapture = SpanCapture() }
  }
}
