import MMLog

/// Twenty log statements.
public enum TwentySites {
  /// How many there are.
  public static let count = 20

  @inline(__always)
  static func log(_ site: Int, _ log: Logger, _ index: Int, _ user: String) {
    switch site {
    case 0: log.info("step 0 of order \(index) for \(user)")
    case 1: log.info("step 1 of order \(index) for \(user)")
    case 2: log.info("step 2 of order \(index) for \(user)")
    case 3: log.info("step 3 of order \(index) for \(user)")
    case 4: log.info("step 4 of order \(index) for \(user)")
    case 5: log.info("step 5 of order \(index) for \(user)")
    case 6: log.info("step 6 of order \(index) for \(user)")
    case 7: log.info("step 7 of order \(index) for \(user)")
    case 8: log.info("step 8 of order \(index) for \(user)")
    case 9: log.info("step 9 of order \(index) for \(user)")
    case 10: log.info("step 10 of order \(index) for \(user)")
    case 11: log.info("step 11 of order \(index) for \(user)")
    case 12: log.info("step 12 of order \(index) for \(user)")
    case 13: log.info("step 13 of order \(index) for \(user)")
    case 14: log.info("step 14 of order \(index) for \(user)")
    case 15: log.info("step 15 of order \(index) for \(user)")
    case 16: log.info("step 16 of order \(index) for \(user)")
    case 17: log.info("step 17 of order \(index) for \(user)")
    case 18: log.info("step 18 of order \(index) for \(user)")
    default: log.info("step 19 of order \(index) for \(user)")
    }
  }
}
