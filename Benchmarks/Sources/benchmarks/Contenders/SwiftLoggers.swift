import CHarness
import Glibc
import MMLogCalls

extension Order {
  /// The order message as services build it.
  @inline(__always)
  var line: String {
    "order \(id) accepted for \(user) in \(elapsed) ms, quantity \(quantity)"
  }

  /// A message with its pairs.
  @inline(__always)
  var pairs: String {
    "order accepted venue=\(user) id=\(id) price=\(elapsed) live=\(isLive) side=\(side)"
  }
}

/// String interpolation, and nothing done with the string.
struct Interpolation: Contender {
  static let name = "interpolation alone"
  static let workloads = [Workload.order, .pairs]

  init(directory: String, for purpose: Purpose) {}

  @inline(never)
  func order(_ order: Order) { harness_consume(UInt64(order.line.utf8.count)) }

  @inline(never)
  func pairs(_ order: Order) { harness_consume(UInt64(order.pairs.utf8.count)) }
}

/// String interpolation and `fwrite`: no time, no level.
///
/// Proof of `@unchecked Sendable`: the C library's streams have a lock each.
struct Fwrite: Contender, @unchecked Sendable {
  static let name = "fwrite"
  static let workloads = [Workload.order, .text, .line, .pairs]
  private let file: UnsafeMutablePointer<FILE>

  init(directory: String, for purpose: Purpose) throws {
    guard let file = fopen("\(directory)/log", "w") else {
      throw BenchmarkError("no file can be made in \(directory)")
    }
    self.file = file
  }

  @inline(never) func order(_ order: Order) { write(order.line) }
  @inline(never) func text(_ text: Text) { write(text.swift) }
  @inline(never) func pairs(_ order: Order) { write(order.pairs) }

  @inline(__always)
  private func write(_ message: String) {
    var line = message + "\n"
    line.withUTF8 { _ = fwrite($0.baseAddress, 1, $0.count, file) }
  }

  func drain() { fflush(file) }

  func finish() {
    fflush(file)
    fsync(fileno(file))
    fclose(file)
  }
}
