import MMLogFormat
import TestSupport

/// What a decoder threw, nil if it did not.
func failure(_ body: () throws -> Void) -> FormatError? { thrown(FormatError.self, by: body) }

let anyIdentity = SessionIdentity(
  session: SessionID(words: (1, 2)), bootID: Array(1...16), processID: 42, startTime: -5,
  processName: "orders", hostName: "tokyo", timeZone: "Europe/Berlin", storeName: "store")
