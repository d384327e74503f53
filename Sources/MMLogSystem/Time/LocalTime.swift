import Glibc

/// A moment as clocks and calendars of some zone show it.
package struct CivilTime: Equatable, Sendable {
  package var year = 1970
  package var month = 1
  package var day = 1
  package var hour = 0
  package var minute = 0
  package var second = 0

  /// Makes midnight of 1 January 1970.
  package init() {}
}

/// The process's time zone: tzset(3). Any thread, but for ``setZone(_:)``.
package enum LocalTime {
  /// How many seconds the zone is ahead of UTC at a moment, and the zone's abbreviation then:
  /// localtime_r(3).
  ///
  /// - Parameter second: since 1970 in UTC.
  /// - Returns: nil for a moment whose year C cannot hold.
  package static func offset(at second: Int) -> (seconds: Int, abbreviation: String)? {
    var (time, fields) = (time_t(second), tm())
    // localtime_r(3) need not call it.
    tzset()
    guard localtime_r(&time, &fields) != nil else { return nil }
    return (Int(fields.tm_gmtoff), fields.tm_zone.map { String(cString: $0) } ?? "")
  }

  /// The moment at which the zone's clocks show `time`, in seconds since 1970.
  ///
  /// For a time that they show twice, the first moment. For a time that they skip, the moment as
  /// many seconds after the gap's start as the time is.
  /// - Returns: nil if there is no such date.
  package static func second(at time: CivilTime) -> Int? {
    guard isDate(time) else { return nil }
    var fields = time.fields
    let second = Int(timegm(&fields))
    let (before, after) = (ahead(at: second - 86400), ahead(at: second + 86400))
    // With the offset before a change: the first of two moments, or as far behind the gap's start.
    for seconds in [before, after] where ahead(at: second - seconds) == seconds {
      return second - seconds
    }
    return second - before
  }

  /// How many seconds the zone is ahead of UTC at a moment; 0 if its year is beyond all.
  private static func ahead(at second: Int) -> Int { offset(at: second)?.seconds ?? 0 }

  /// As ``second(at:)``, for UTC: timegm(3).
  package static func utcSecond(at time: CivilTime) -> Int? {
    guard isDate(time) else { return nil }
    var fields = time.fields
    return Int(timegm(&fields))
  }

  /// Makes a zone of the system's database that of the whole process: setenv(3), tzset(3).
  ///
  /// Only for a program that has not yet started a second thread.
  /// - Parameter name: such as `Europe/Berlin`.
  /// - Returns: false if there is no such zone.
  package static func setZone(_ name: String) -> Bool {
    guard name == "UTC" || exists(name) else { return false }
    setenv("TZ", name == "UTC" ? "UTC0" : ":" + name, 1)
    tzset()
    return true
  }

  /// glibc takes an unknown name for UTC, so the database has to be asked.
  private static func exists(_ name: String) -> Bool {
    guard let file = openZone(name) else { return false }
    return withUnsafeTemporaryAllocation(byteCount: 4, alignment: 1) { magic in
      (try? file.readFully(into: magic, at: 0)) == 4 && magic.elementsEqual("TZif".utf8)
    }
  }

  /// Opens a zone's file in the system's database; nil if there is none of that name.
  static func openZone(_ name: String) -> File? {
    let parts = name.unicodeScalars.split(separator: "/", omittingEmptySubsequences: false)
    guard !parts.contains(where: { $0.isEmpty || $0.first == "." }) else { return nil }
    let folder = getenv("TZDIR").map { String(cString: $0) } ?? "/usr/share/zoneinfo"
    guard let file = try? File.openFollowingLinks("\(folder)/\(name)"),
      (try? file.status().isRegularFile) == true
    else { return nil }
    return file
  }

  /// mktime(3) would take 31 February for 3 March.
  private static func isDate(_ time: CivilTime) -> Bool {
    let isLeap = time.year % 4 == 0 && (time.year % 100 != 0 || time.year % 400 == 0)
    let days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    return (1...9999).contains(time.year) && (1...12).contains(time.month)
      && (1...days[time.month - 1]).contains(time.day) && (0...23).contains(time.hour)
      && (0...59).contains(time.minute) && (0...60).contains(time.second)
  }
}

extension CivilTime {
  fileprivate var fields: tm {
    var fields = tm()
    fields.tm_year = CInt(year - 1900)
    fields.tm_mon = CInt(month - 1)
    fields.tm_mday = CInt(day)
    fields.tm_hour = CInt(hour)
    fields.tm_min = CInt(minute)
    fields.tm_sec = CInt(second)
    return fields
  }
}
