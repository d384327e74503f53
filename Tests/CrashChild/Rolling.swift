import CommandLineTool
import CrashRecords
import MMLog

/// Logs a record, closes its archive, marks some as uploaded, and so on: a life of years in
/// seconds.
struct Rolling {
  private let page: CountPage
  private let store: LogStore
  private let log: Logger
  private let lane: Lane

  init(_ arguments: Arguments, _ page: CountPage) throws {
    self.page = page
    store = try LogStore(
      directory: arguments.required(.directory), name: "crash", configuration: .init(arguments))
    log = store.logger(label: "rolling")
    lane = Lane(0, sizes: 0...100, seed: UInt64(arguments.required(.seed)) ?? 1)
  }

  func run(_ rolls: Int) throws {
    page.isReady = true
    for sequence in 1...rolls {
      lane.log(sequence, to: log)
      page.acknowledge(lane.number)
      let archive = try store.rotate(within: .seconds(60))
      // Other processes may have deleted the archive by now.
      if sequence % 7 == 0, let archive { try? store.markUploaded(archive) }
      if sequence % 50 == 0 { try store.applyRetention() }
    }
    try store.close()
  }
}
