import TestSupport
import CrashRecords
import MMLogReader
import MMLogStorage
import MMLogSystem
import Glibc

extension RealFault {
  private static let hour: Int64 = 3_600_000_000_000

  static let ofClocks = [
    RealFault("clock-steps") { place in
      try step(place, by: [hour, -hour, 0, -3 * hour, 24 * hour, 1, -1])
    },
    // A machine without a battery starts in 1970, and is set later.
    RealFault("clock-from-1970") { place in
      let now = Clock.realtime()
      return try step(place, by: [5_000_000_000 - now, 0, 60_000_000_000 - now, 0])
    },
  ]

  /// Sets the wall clock while a store works: to the right time plus each of the shifts, one after
  /// the other.
  private static func step(_ place: String, by shifts: [Int64]) throws -> [String] {
    #if DEBUG
      var problems: [String] = []
      // The first shift is in force before the store starts.
      Clock.setRealtime(back: -shifts[0])
      let begin = Clock.realtime()
      let service = try Service(in: "\(place)/store")
      var walls = [begin]
      for shift in shifts + shifts {
        Clock.setRealtime(back: -shift)
        walls.append(Clock.realtime())
        service.logOn(150)
        // The drainer reads the clocks once a second.
        usleep(1_100_000)
        walls.append(Clock.realtime())
      }
      if let error = service.end() { problems.append("closing fails: \(error)") }
      Clock.setRealtime(back: 0)
      problems += service.problems()
      problems += checkTimes(service.folder, walls.min() ?? 0, walls.max() ?? 0)
      return try problems + checkNames(service.folder)
    #else
      throw Failure("setting the clock needs a build with DEBUG, as Tools/torture makes one")
    #endif
  }

  /// Checks that every record has a time that the clock showed. Reading has checked the order of
  /// each thread's records.
  private static func checkTimes(_ folder: String, _ first: Int64, _ last: Int64) -> [String] {
    let slack: Int64 = 5_000_000_000
    var wrong = 0
    let range = first - slack...last + slack
    for case .record(let record) in LogReader(paths: [folder])
    where !range.contains(record.time.nanosecondsSince1970) {
      wrong += 1
    }
    return wrong == 0 ? [] : ["\(wrong) records have a time that no clock showed"]
  }

  private static func checkNames(_ folder: String) throws -> [String] {
    let numbers = try Folder.names(folder).compactMap { FileNames.Archive(fileName: $0)?.number }
    return Set(numbers) == Set(1...UInt32(numbers.count))
      ? [] : ["archives are numbered \(numbers)"]
  }
}
