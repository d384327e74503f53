import CHarness
import Glibc
import MMLogCalls

extension Sample {
  /// The order message as services build it.
  @inline(__always)
  func line(_ index: Int) -> String {
    "order \(index) accepted for \(user) in \(Sample.elapsed(index)) ms, quantity \(Sample.quantity(index))"
  }

  /// A message with its pairs.
  @inline(__always)
  func pairs(_ index: Int) -> String {
    "order accepted venue=\(user) id=\(index) price=\(0.5) live=\(true) side=\("buy")"
  }
}

/// String interpolation, and nothing done with the string.
struct Interpolation: Contender {
  static let name = "interpolation alone"
  static let workloads = [Workload.order, .pairs]
  private let sample = Sample()

  init(directory: String, for purpose: Purpose) {}

  @inline(never)
  func order(_ index: Int) { harness_consume(UInt64(sample.line(index).utf8.count)) }

  @inline(never)
  func pairs(_ index: Int) { harness_consume(UInt64(sample.pairs(index).utf8.count)) }
}

/// String interpolation and `fwrite`: no time, no level.
///
/// Proof of `@unchecked Sendable`: the C library's streams have a lock each.
struct Fwrite: Contender, @unchecked Sendable {
  static let name = "fwrite"
  static let workloads = [Workload.order, .text, .pairs]
  private let sample = Sample()
  private let file: UnsafeMutablePointer<FILE>

  init(directory: String, for purpose: Purpose) throws {
    guard let file = fopen("\(directory)/log", "w") else {
      throw BenchmarkError("no file can be made in \(directory)")
    }
    self.file = file
  }

  @inline(never) func order(_ index: Int) { write(sample.line(index)) }
  @inline(never) func text(_ index: Int) { write(sample.text) }
  @inline(never) func line(_ text: String, _ cText: UnsafePointer<CChar>) { write(text) }
  @inline(never) func pairs(_ index: Int) { write(sample.pairs(index)) }

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
