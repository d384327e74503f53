import MMLogFormat
import Testing

@Suite("The loss ledger as text")
struct LossTextTests {
  @Test("names causes and levels with their counts")
  func causes() {
    var ledger = LossLedger()
    ledger[.ringFull, .info] = 9
    ledger[.ringFull, .error] = 3
    ledger[.cut, .debug] = 1
    #expect("\(ledger)" == "lost 12 records: ring full (info 9, error 3); cut 1 record (debug 1)")
  }

  @Test("does not call lost what is only cut")
  func cut() {
    var ledger = LossLedger()
    ledger[.cut, .info] = 2
    #expect("\(ledger)" == "cut 2 records (info 2)")
  }

  @Test("says so if there are none")
  func none() {
    #expect("\(LossLedger())" == "no losses")
  }

  @Test("shows counts of the reserved level as critical, as records are")
  func reservedLevel() {
    var ledger = LossLedger()
    ledger[.ringFull, .critical] = 1
    ledger.counts[7] = 4
    ledger.counts[2 * LossLedger.levels + 7] = 2
    #expect("\(ledger)" == "lost 5 records: ring full (critical 5); cut 2 records (critical 2)")
    #expect(ledger.total(.ringFull) == 5 && ledger.total == 7 && ledger.lostCount == 5)
  }

  @Test("counts what a newer version or corruption has put where no cause is")
  func unknown() {
    var ledger = LossLedger()
    ledger[.cut, .info] = 1
    ledger.counts[7 * LossLedger.levels] = 4
    #expect(
      "\(ledger)" == "lost 4 records: causes unknown to this version (4); cut 1 record (info 1)")
  }
}
