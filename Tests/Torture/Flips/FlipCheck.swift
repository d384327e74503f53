import CrashCampaign
import TestSupport
import MMLogReader
import MMLogSystem

/// Reads a specimen with some bits wrong, and says which results are not allowed.
struct FlipCheck {
  private let specimen: Specimen
  private let folder: String
  /// The files, which are changed in place and back.
  private var bytes: [[UInt8]]
  private var count = Counts()

  /// The results of all cases.
  struct Counts {
    var cases = 0
    var withLoss = 0
    var maximumLost = 0
  }

  var counts: Counts { count }

  /// - Parameter folder: A new one, where the files are put.
  init(_ specimen: Specimen, in folder: String) throws {
    self.specimen = specimen
    self.folder = folder
    bytes = specimen.files.map(\.bytes)
    try Folder.make(folder)
    for file in specimen.files { try Folder.write(file.bytes, to: "\(folder)/\(file.name)") }
  }

  /// Flips bits, reads, and flips the bits back. Bits are numbered through all files.
  ///
  /// If reading ends the process, the bits stay flipped.
  /// - Returns: What is wrong, or nil.
  mutating func problem(with bits: [Int]) throws -> String? {
    try flip(bits)
    defer { count.cases += 1 }
    let problem = try read(allowed: allowedLosses(bits))
    try flip(bits)
    return problem
  }

  private mutating func flip(_ bits: [Int]) throws {
    for bit in bits {
      let (file, offset) = place(bit)
      bytes[file][offset] ^= 1 << UInt8(bit % 8)
      let output = try File.open("\(folder)/\(specimen.files[file].name)", [.write])
      try [bytes[file][offset]].withUnsafeBytes { try output.writeFully($0, at: offset) }
    }
  }

  private func place(_ bit: Int) -> (file: Int, offset: Int) {
    var offset = bit / 8
    for (index, file) in specimen.files.enumerated() {
      if offset < file.bytes.count { return (index, offset) }
      offset -= file.bytes.count
    }
    preconditionFailure("no such bit")
  }

  /// The records that may be missing when these bits are wrong.
  private func allowedLosses(_ bits: [Int]) -> Set<Int> {
    var hits: [[Int]: [Part]] = [:]
    for bit in bits {
      let (file, offset) = place(bit)
      for part in specimen.files[file].parts where part.range.contains(offset) {
        hits[[file, part.group], default: []].append(part)
      }
    }
    return hits.values.reduce(into: []) { allowed, parts in
      for part in parts { allowed.formUnion(parts.count == 1 ? part.one : part.several) }
    }
  }

  private mutating func read(allowed: Set<Int>) throws -> String? {
    let reader = LogReader(
      CampaignIdentity.files(specimen.files.map { "\(folder)/\($0.name)" }))
    var isReported = !reader.unreadable.isEmpty
    var (next, missing) = (0, [Int]())
    for item in reader {
      switch item {
      case .record(let record):
        let found = LoggedRecord(record)
        let start = next
        while next < specimen.records.count, specimen.records[next].ticks != found.ticks {
          next += 1
        }
        guard next < specimen.records.count, specimen.records[next] == found else {
          return "a record that was not logged, or not there: \(record.message.prefix(60))"
        }
        missing += start..<next
        next += 1
      case .corruption, .gap, .unfinished: isReported = true
      default: break
      }
    }
    missing += next..<specimen.records.count
    if missing.isEmpty { return nil }
    count.withLoss += 1
    count.maximumLost = max(count.maximumLost, missing.count)
    let unexpected = missing.filter { !allowed.contains($0) }
    if !unexpected.isEmpty {
      return "\(missing.count) records are missing, \(unexpected.count) of which must be there"
    }
    return isReported ? nil : "\(missing.count) records are missing, and nothing is reported"
  }
}
