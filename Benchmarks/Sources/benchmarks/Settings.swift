/// What is to be measured, and how long.
struct Settings {
  var quick = false
  var markdown = false
  var directory = "/tmp/mmlog-benchmarks"
  /// A folder on tmpfs; empty: none.
  var memoryDirectory = ""
  var json: String?
  /// A file whose lines are logged; nil: made-up lines.
  var lines: String?
  var parts: [String] = []

  /// Where rings are measured, by name.
  var places: [(name: String, directory: String)] {
    [("on the disk", directory)] + (memoryDirectory.isEmpty ? [] : [("on tmpfs", memoryDirectory)])
  }

  var rounds: Int { quick ? 5 : 15 }
  var pacedCalls: Int { quick ? 5_000 : 20_000 }
  var bursts: Int { quick ? 150 : 1_000 }
  var kills: Int { quick ? 2 : 7 }
  var sustainedRecords: Int { quick ? 500_000 : 5_000_000 }
  var sustainedRounds: Int { quick ? 1 : 3 }
  /// The number of records for loggers that make less than about a million records a second.
  var slowRecords: Int { quick ? 100_000 : 1_000_000 }

  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    func value(of option: String) throws -> String {
      guard let value = rest.popFirst() else { throw BenchmarkError("\(option) needs a value") }
      return value
    }
    while let argument = rest.popFirst() {
      switch argument {
      case "--quick": quick = true
      case "--markdown": markdown = true
      case "--directory": directory = try value(of: argument)
      case "--memory-directory": memoryDirectory = try value(of: argument)
      case "--json": json = try value(of: argument)
      case "--lines": lines = try value(of: argument)
      case "--only": parts = try value(of: argument).split(separator: ",").map(String.init)
      default: throw BenchmarkError("unknown option \(argument)")
      }
    }
    for part in parts where !Part.allCases.map(\.rawValue).contains(part) {
      throw BenchmarkError("there is no part '\(part)'")
    }
  }

  func wants(_ part: Part) -> Bool { parts.isEmpty || parts.contains(part.rawValue) }
}

/// The parts of the suite.
enum Part: String, CaseIterable {
  case latency, bursts, threads, places, first, losses, sustained, decode, queries, maintenance
  case http, sealed
}
