import Foundation
import MMLogCalls

/// A serial queue that formats, seeks to the end and writes, for each message: CocoaLumberjack's
/// DDFileLogger.
struct QueueFile: QueueContender {
  static let name = "queue + FileHandle"
  let log: QueueLogger

  init(directory: String, for purpose: Purpose) throws {
    log = try QueueLogger("\(directory)/log", buffer: 0)
  }
}

/// The same queue behind a buffer in memory, which is written when it is full: CocoaLumberjack's
/// DDBufferedProxy.
struct QueueBuffer: QueueContender {
  static let name = "queue + buffer"
  let log: QueueLogger

  init(directory: String, for purpose: Purpose) throws {
    // CocoaLumberjack's own default.
    log = try QueueLogger("\(directory)/log", buffer: 4096)
  }
}

/// What logs to a ``QueueLogger``.
protocol QueueContender: Contender {
  var log: QueueLogger { get }
}

extension QueueContender {
  static var workloads: [Workload] { [.order, .text, .line, .pairs] }

  @inline(never) func order(_ order: Order) { log.log(order.line) }
  @inline(never) func text(_ text: Text) { log.log(text.swift) }
  @inline(never) func pairs(_ order: Order) { log.log(order.pairs) }
  func drain() { log.drain() }
  func finish() { log.close() }
}

/// The caller builds the message and takes the time. The queue does everything else.
///
/// Proof of `@unchecked Sendable`: what changes is touched on the queue only.
final class QueueLogger: @unchecked Sendable {
  private let queue = DispatchQueue(label: "log")
  private let handle: FileHandle
  private let formatter = DateFormatter()
  private let limit: Int
  private var buffer = Data()

  init(_ path: String, buffer limit: Int) throws {
    guard FileManager.default.createFile(atPath: path, contents: nil),
      let handle = FileHandle(forWritingAtPath: path)
    else { throw BenchmarkError("\(path) cannot be made") }
    self.handle = handle
    self.limit = limit
    formatter.dateFormat = "yyyy/MM/dd HH:mm:ss:SSS"
  }

  @inline(__always)
  func log(_ message: String) {
    let time = Date()
    queue.async { self.append(message, time) }
  }

  private func append(_ message: String, _ time: Date) {
    let line = Data("\(formatter.string(from: time))  \(message)\n".utf8)
    guard limit > 0 else { return write(line) }
    buffer.append(line)
    if buffer.count >= limit { writeBuffer() }
  }

  private func write(_ data: Data) {
    do {
      try handle.seekToEnd()
      try handle.write(contentsOf: data)
    } catch {
      preconditionFailure("the log cannot be written: \(error)")
    }
  }

  private func writeBuffer() {
    if !buffer.isEmpty { write(buffer) }
    buffer.removeAll(keepingCapacity: true)
  }

  func drain() { queue.sync { writeBuffer() } }

  func close() {
    drain()
    try? handle.synchronize()
    try? handle.close()
  }
}
