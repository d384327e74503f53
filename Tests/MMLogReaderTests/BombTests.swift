import Foundation
import MMLogFormat
import MMLogReader
import MMLogTestFiles
import Testing

/// Small files that claim to hold much: what reading them takes is bounded.
@Suite(
  .disabled(
    if: dlsym(nil, "__asan_init") != nil,
    "The address sanitizer takes memory of its own for each byte.")
)
struct BombTests {
  /// Twelve frames of 60 MiB each, all of the same time, in some 700 KiB.
  @Test func framesThatInflateTakeBoundedMemory() async {
    await #expect(processExitsWith: .success) {
      let log = TestLog()
      log.writesRing = false
      log.write("small", ticks: 1)
      log.archive()
      let size = 60 << 20
      var payload = [UInt8](repeating: 0, count: 8 + 32 + size)
      payload.withUnsafeMutableBytes {
        $0.store(RecordLayout.recordKind | UInt64(4 + size / 8), 8)
        $0.store(UInt64(2), 16)
        $0.store(UInt64(log.textSite), 24)
        $0.store(UInt64(size), 32)
      }
      var summary = RecordSummary()
      summary.add(ticks: 2, level: .trace)
      let frame = Array(log.archives[0][log.addFrame(.records, payload, summary)])
      payload = []
      for _ in 0..<11 { log.archives[0] += frame }
      precondition(log.archives[0].count < 2 << 20, "that is no bomb")
      var (records, others) = (0, 0)
      for item in LogReader(paths: log.save()) {
        switch item {
        case .record: records += 1
        case .damage: others += 1
        default: break
        }
      }
      precondition(records == 13 && others == 0, "\(records) records, \(others) times damage")
      // What may be open at a time, and what one more takes while it is opened.
      precondition(peakMemory() < 640 << 20, "\(peakMemory() >> 20) MiB")
    }
  }

  /// Dictionary frames of 60 MiB each in one entry.
  @Test func callSitesThatInflateTakeBoundedMemory() async {
    await #expect(processExitsWith: .success) {
      let log = TestLog()
      log.writesRing = false
      log.write("small", ticks: 1)
      log.archive()
      for id in 100..<112 as Range<UInt32> {
        let literal = String(repeating: "x", count: 60 << 20)
        let site = CallSite(
          file: "", function: "", line: 0, column: 0, pieces: [.literal(literal)])
        let words = DictionaryEntry.callSite(id: id, site).encoded(seed: log.seed(0))
        log.addFrame(.dictionary, words.withUnsafeBytes { Array($0) })
      }
      var (records, damage) = (0, 0)
      for item in LogReader(paths: log.save()) {
        switch item {
        case .record: records += 1
        case .damage: damage += 1
        default: break
        }
      }
      precondition(records == 1 && damage == 10, "\(records) records, \(damage) times damage")
      precondition(peakMemory() < 1 << 30, "\(peakMemory() >> 20) MiB")
    }
  }

  @Test func aDictionaryTakesNoMoreThanAMillionCallSites() {
    var dictionary = LogDictionary()
    let site = CallSite(file: "", function: "", line: 0, column: 0, pieces: [])
    let most = UInt32(LogDictionary.mostCallSites)
    for id in 1...most where !dictionary.insert(.callSite(id: id, site)) {
      Issue.record("\(id)")
      return
    }
    let another = dictionary.insert(.callSite(id: most + 1, site))
    let again = dictionary.insert(.callSite(id: most, site))
    #expect(!another && again)
  }
}

/// The most memory that the process has had resident, in bytes.
private func peakMemory() -> Int {
  let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
  let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
  return (line.split(separator: " ").compactMap { Int($0) }.first ?? 0) * 1024
}
