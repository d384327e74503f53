import MMLogFormat
import TestSupport

/// What a decoder threw, nil if it did not.
func failure(_ body: () throws -> Void) -> FormatError? {
  do {
    try body()
    return nil
  } catch {
    return error as? FormatError
  }
}

let anyIdentity = SessionIdentity(
  session: SessionID(words: (1, 2)), bootID: Array(1...16), processID: 42, startTime: -5,
  processName: "orders", hostName: "tokyo", timeZone: "Europe/Berlin", storeName: "store")
