import Foundation
import MMLogFormat
import TestSupport
import Testing

@testable import MMLogReader

/// Names of functions, from the file of a program.
@Suite struct ExecutableSymbolTests {
  private let program = "/bin/sh"

  /// Finds the note that holds the build ID by the note's header.
  private func buildID(_ bytes: [UInt8]) throws -> [UInt8] {
    let header = [4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0] + Array("GNU\0".utf8) as [UInt8]
    let start = try #require(bytes.indices.first { bytes[$0...].starts(with: header) })
    return Array(bytes[(start + header.count)...].prefix(20))
  }

  private func opens(_ path: String, _ buildID: [UInt8]) -> Bool {
    if case .some = ExecutableSymbols(path: path, buildID: buildID) { true } else { false }
  }

  @Test("a file of another build is not used") func aFileOfAnotherBuildIsNotUsed() throws {
    let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: program)))
    let id = try buildID(bytes)
    #expect(opens(program, id))
    #expect(!opens(program, id.reversed()))
    #expect(!opens(program, []))
    #expect(!opens("/nowhere", id))
    #expect(!opens("/dev/zero", id))
  }

  @Test("the file that has the names is the one that is of that build")
  func theFileThatHasTheNames() throws {
    let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: program)))
    let id = try buildID(bytes)
    let digits = id.map { String(format: "%02x", $0) }
    let folder = TemporaryDirectory()
    try Folder.make(folder(".build-id"))
    try Folder.make(folder(".build-id/\(digits[0])"))
    let debugFile = folder.put(".build-id/\(digits[0])/\(digits.dropFirst().joined()).debug", bytes)
    func file(of path: String, _ directory: String) -> String? {
      ExecutableSymbols.ofBuild(id, path: path, debugFilesIn: directory)?.path
    }
    // The program at this path now belongs to another build.
    #expect(file(of: "/etc/passwd", folder.path) == debugFile)
    #expect(file(of: program, folder.path) == debugFile)
    #expect(file(of: program, folder("nothing")) == program)
    #expect(file(of: "/etc/passwd", folder("nothing")) == nil)
  }

  @Test("the end of a path is not taken for a file of the working directory")
  func theEndOfAPath() async throws {
    let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: program)))
    let folder = TemporaryDirectory()
    folder.put("program", bytes)
    await #expect(processExitsWith: .success) {
      [path = folder.path as String, id = try buildID(bytes) as [UInt8]] in
      try #require(chdir(path) == 0)
      func isFound(_ path: String) -> Bool {
        ExecutableSymbols.ofBuild(id, path: path)?.path == path
      }
      try #require(isFound("\(path)/program") && !isFound("program"))
    }
  }

  @Test("a broken file has no names or some") func aBrokenFileHasNoNamesOrSome() throws {
    let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: program)))
    let id = try buildID(bytes)
    let sections = bytes.withUnsafeBytes {
      Int($0.loadUnaligned(fromByteOffset: 40, as: UInt64.self))
    }
    let folder = TemporaryDirectory()
    for seed in 1...300 as ClosedRange<UInt64> {
      var generator = SeededGenerator(seed: seed)
      var broken = bytes
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        let isInHeader = Bool.random(using: &generator)
        let range = isInHeader ? 0..<64 : sections..<bytes.count
        broken[Int.random(in: range, using: &generator)] = UInt8.random(
          in: 0...255, using: &generator)
      }
      if Int.random(in: 0..<4, using: &generator) == 0 {
        broken.removeLast(Int.random(in: 0..<bytes.count, using: &generator))
      }
      let path = folder.put("program", broken)
      if let symbols = ExecutableSymbols(path: path, buildID: id) {
        let names = symbols.functions(at: [0, 0x10000, .max]).values.map(\.name)
        #expect(names.allSatisfy { $0.utf8.count < 65536 }, "seed \(seed)")
      }
    }
  }

  @Test("a crash report may have a return address at the very beginning of a program")
  func returnAddressAtTheBeginning() throws {
    let id = try buildID(Array(try Data(contentsOf: URL(fileURLWithPath: program))))
    let bytes = CrashReport.bytes(frames: [0x1800, 0x1000], registers: 0, module: program) {
      let module = CrashLayout.modules
      $0.store(UInt32(id.count), module + CrashLayout.buildIDSize)
      for (index, byte) in id.enumerated() { $0.store(byte, module + CrashLayout.buildID + index) }
    }
    let report = try #require(bytes.withUnsafeBytes { CrashReport($0) })
    #expect(report.details.last?.hasSuffix("\(program) + 0x0") == true)
  }
}
