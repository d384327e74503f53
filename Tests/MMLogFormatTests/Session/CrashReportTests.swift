import CMMLogCore
import MMLogFormat
import TestSupport
import Testing

@Suite struct CrashReportTests {
  private static func report(_ bytes: [UInt8]) -> CrashReport? {
    bytes.withUnsafeBytes { CrashReport($0) }
  }

  @Test("a report is read as it stands") func aReportIsReadAsItStands() throws {
    let bytes = CrashReport.bytes(frames: [0x1100, 0], registers: 18, module: "/bin/true")
    let report = try #require(Self.report(bytes))
    #expect(report.signalName == "SIGSEGV" && report.reason == "no memory at this address")
    #expect(report.frames == [0x1100, 0] && report.registers.count == report.registerNames.count)
    #expect(report.module(of: 0x1100) == report.modules.first && report.module(of: 0) == nil)
    #expect(report.encoded == bytes)
  }

  @Test(
    "what the runtime said is read",
    arguments: [
      ("App/main.swift:1: Fatal error: x\n", 0, "App/main.swift:1: Fatal error: x"), ("", 0, ""),
      (String(repeating: "x", count: 424), 0, String(repeating: "x", count: 424)),
      ("St13runtime_error", 4, "C++ exception std::runtime_error"),
      ("N6orders4book5ErrorE", 4, "C++ exception orders::book::Error"),
      ("*7Failure", 4, "C++ exception Failure"), ("i", 4, "C++ exception i"),
      ("99x", 4, "C++ exception 99x"), ("N", 4, "C++ exception N"),
      ("St6vectorIiSaIiEE", 4, "C++ exception St6vectorIiSaIiEE"),
    ])
  func whatTheRuntimeSaidIsRead(text: String, flags: Int, expected: String) throws {
    let bytes = CrashReport.bytes {
      $0.store(text: text, CrashLayout.message, CrashLayout.messageSize)
      $0.store(UInt16(flags), CrashLayout.flags)
    }
    #expect(try #require(Self.report(bytes)).message == expected)
  }

  @Test(
    "an address is shown where the kernel has named one",
    arguments: [
      (1, "SIGSEGV (no memory at this address) at 0x10 in thread 0"),
      (128, "SIGSEGV (address of no kind) in thread 0"),
      (0, "SIGSEGV in thread 0"),
    ])
  func anAddressIsShownWhereTheKernelHasNamedOne(code: UInt32, expected: String) throws {
    let bytes = CrashReport.bytes(frames: [], registers: 0, module: "") {
      $0.store(code, CrashLayout.code)
    }
    let report = try #require(Self.report(bytes))
    #expect(report.summary == expected && report.hasAddress == (code == 1))
  }

  @Test("of one that is encrypted, nobody knows what was said")
  func ofOneThatIsEncryptedNobodyKnowsWhatWasSaid() throws {
    let bytes = CrashReport.bytes {
      $0.store(text: "\u{1}\u{2}", CrashLayout.message, CrashLayout.messageSize)
      $0.store(CrashLayout.isException | 1 << CrashLayout.partShift, CrashLayout.flags)
    }
    let report = try #require(Self.report(bytes))
    #expect(report.isEncrypted && report.message.isEmpty)
  }

  @Test("one with a wrong bit is none") func oneWithAWrongBitIsNone() {
    let bytes = CrashReport.bytes { $0.store(11 as UInt32, CrashLayout.signal) }
    // But for what stands beside it, in the same word as the state.
    for bit in 0..<bytes.count * 8 where !(8..<32).contains(bit) {
      var wrong = bytes
      wrong[bit / 8] ^= 1 << (bit % 8)
      #expect(Self.report(wrong) == nil, "bit \(bit)")
    }
    for count in stride(from: 0, to: bytes.count, by: 7) {
      #expect(Self.report(Array(bytes.prefix(count))) == nil)
    }
  }

  @Test("survivals beside it are no part of it") func survivalsBesideItAreNoPartOfIt() {
    var bytes = CrashReport.bytes(frames: [0x1100, 0], registers: 18, module: "/bin/true")
    let report = Self.report(bytes)
    (bytes[CrashLayout.survivals], bytes[CrashLayout.survivalsCopy]) = (3, 3)
    #expect(Self.report(bytes) == report)
    #expect(bytes.withUnsafeBytes { CrashReport.survivals($0) } == 3)
    bytes[CrashLayout.survivalsCopy] = 7
    #expect(bytes.withUnsafeBytes { CrashReport.survivals($0) } == nil)
  }

  @Test(
    "numbers that nothing has room for make it none",
    arguments: [
      (CrashLayout.registerCount, 35), (CrashLayout.moduleCount, 15), (CrashLayout.frameCount, 129),
    ])
  func numbersThatNothingHasRoomForMakeItNone(offset: Int, number: Int) {
    #expect(Self.report(CrashReport.bytes { $0.store(UInt8(number), offset) }) == nil)
    #expect(Self.report(CrashReport.bytes { $0.store(UInt8(number - 1), offset) }) != nil)
  }

  @Test("sizes of build i ds are not believed") func sizesOfBuildIDsAreNotBelieved() throws {
    let bytes = CrashReport.bytes {
      $0.store(1 as UInt8, CrashLayout.moduleCount)
      $0.store(UInt32.max, CrashLayout.modules + CrashLayout.buildIDSize)
    }
    #expect(try #require(Self.report(bytes)).modules[0].buildID.count == CrashLayout.maximumBuildID)
  }

  @Test("what c writes is what swift reads") func whatCWritesIsWhatSwiftReads() {
    let values: [(Int, Int)] = [
      (MMLOG_ENDING_EXITED, Int(SessionEnd.How.exited.rawValue)),
      (MMLOG_ENDING_TERMINATED, Int(SessionEnd.How.terminated.rawValue)),
      (
        MMLOG_CRASH_SURVIVAL,
        1 << (8 * CrashLayout.survivals) + 1 << (8 * CrashLayout.survivalsCopy)
      ),
    ]
    for (index, (value, expected)) in values.enumerated() {
      #expect(value == expected, "value \(index)")
    }
  }
}
