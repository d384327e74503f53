import CHarness
import Foundation

/// Where the figures come from.
struct Machine: Encodable {
  let processor: String
  let processors: Int
  let memory: String
  let kernel: String
  let compiler: String
  let commit: String
  let date: String
  let nanosecondsPerTick: Double

  init() {
    processor = Self.field("model name", in: "/proc/cpuinfo") ?? "unknown processor"
    processors = Int(harness_processors())
    memory = "\((Self.field("MemTotal", in: "/proc/meminfo").flatMap(Self.number) ?? 0) >> 20) GiB"
    kernel = Self.word(at: 2, of: Self.read("/proc/version")) ?? "unknown kernel"
    // The script knows these; the program cannot.
    let environment = ProcessInfo.processInfo.environment
    compiler = environment["BENCHMARK_COMPILER"] ?? "unknown compiler"
    commit = environment["BENCHMARK_COMMIT"] ?? "unknown commit"
    date = ISO8601DateFormatter().string(from: Date())
    nanosecondsPerTick = Clock.nanosecondsPerTick
  }

  var summary: String {
    "\(processor), \(processors) processors, \(memory), Linux \(kernel), \(compiler); mmlog \(commit); \(date)"
  }

  /// The greatest memory this process has used so far, in KiB.
  static var peakMemory: Int { field("VmHWM", in: "/proc/self/status").flatMap(number) ?? 0 }

  private static func read(_ path: String) -> String {
    (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
  }

  private static func field(_ name: String, in path: String) -> String? {
    let line = read(path).split(separator: "\n").first { $0.hasPrefix(name) }
    return line?.split(separator: ":", maxSplits: 1).last?.trimmingCharacters(in: .whitespaces)
  }

  private static func word(at index: Int, of text: String) -> String? {
    text.split(separator: " ").dropFirst(index).first.map(String.init)
  }

  private static func number(_ text: String) -> Int? { word(at: 0, of: text).flatMap { Int($0) } }
}
