import Foundation
import MMLog
import MMLogCalls
import MMLogReader

/// mmlog, with ring and archives encrypted.
struct SealedContender: Contender {
  static let name = "mmlog, encrypted"
  static let workloads: [Workload] = [.order, .text, .pairs, .message, .bound]
  static let calls = MMLogContender.calls
  static let isFast = true
  static let recipient = "age1v0t3yyu8e9jan3u2z265vys5zqh4cu95qrm2arae2d2epcjygexsnvnj5p"
  private static let identity =
    "AGE-SECRET-KEY-1FA0WT7XTY86CDR5Q9KYFURGRZXKZCNWQE5KSF904E62WKPP9HW5SZ9ARMK"
  private let contender: MMLogContender

  init(directory: String, for purpose: Purpose) throws {
    contender = try MMLogContender(
      directory: directory, ring: nil, recipients: [Recipient(Self.recipient)], for: purpose)
  }

  @inline(__always) func order(_ order: Order) { contender.order(order) }
  @inline(__always) func text(_ text: Text) { contender.text(text) }
  @inline(__always) func pairs(_ order: Order) { contender.pairs(order) }
  @inline(__always) func message(_ index: Int) { contender.message(index) }
  @inline(__always) func bound(_ index: Int) { contender.bound(index) }

  func drain() throws { try contender.drain() }
  func finish() throws { try contender.finish() }

  static func records(in directory: String) throws -> Int {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try Data(identity.utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    return try MMLogContender.records(in: directory, LogIdentities(files: [file.path]))
  }
}
