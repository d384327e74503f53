import Foundation

/// What this program does when it has started itself.
enum ChildTask {
  static func run(_ arguments: [String]) throws {
    switch (arguments.first, arguments.count) {
    case ("flood", 4):
      try AnyContender.named(arguments[1]).flood(arguments[2], SharedCount(arguments[3]))
    case ("sustain", 4):
      let job = try JSONDecoder().decode(Sustained.Job.self, from: Data(arguments[3].utf8))
      let result = try AnyContender.named(arguments[1]).sustain(arguments[2], job)
      try FileHandle.standardOutput.write(contentsOf: JSONEncoder().encode(result))
    case ("many", 3): try Queries.logToManyStores(arguments[1], Int(arguments[2]) ?? 0)
    case ("peak", 3): try Queries.printPeak(of: arguments[1], [arguments[2]])
    case ("neighbor", 2): try Neighbor.run(in: arguments[1])
    default: throw BenchmarkError("a child was started wrongly: \(arguments)")
    }
  }
}
