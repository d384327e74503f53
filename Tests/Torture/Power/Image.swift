import TestSupport
import Glibc
import MMLogFormat

/// The files of a folder as a power cut may leave them.
struct Image {
  var files: [String: [UInt8]] = [:]

  /// Makes up an image: any part of what was not synced at that time may be missing.
  init(of history: History, at time: Int, _ random: inout SeededGenerator) {
    let names = Self.choose(
      history.names, history.nameSyncs.floor(at: time), time, &random)
    for (name, id) in names ?? [:] {
      let file = history.files[id]
      let cut = CutFile(file, at: time, style: .random(&random))
      files[name] = cut.bytes(&random)
    }
    for name in files.keys { files[name]?.withUnsafeMutableBytes(Self.reboot) }
  }

  /// What is in a folder.
  ///
  /// - Parameter isRebooted: Whether the files are to say that they were written before the machine
  ///   was started.
  init(reading folder: String, isRebooted: Bool = true) throws {
    // Reads rings first: what is archived meanwhile is then in both files, not in neither.
    let names = try Folder.names(folder)
    for name in names.filter({ $0.contains(".ring") }) + names where files[name] == nil {
      // A file that has got another name meanwhile is left out.
      files[name] = try? Folder.read("\(folder)/\(name)")
    }
    if !isRebooted { return }
    for name in files.keys { files[name]?.withUnsafeMutableBytes(Self.reboot) }
  }

  /// What is in a folder at one moment, even if its store is at work: reads until two readings are
  /// the same.
  init(still folder: String) throws {
    self = try Image(reading: folder, isRebooted: false)
    while true {
      let again = try Image(reading: folder, isRebooted: false)
      if again.files == files { return }
      self = again
    }
  }

  /// Writes the files into a new folder.
  func write(to folder: String) throws {
    try Folder.make(folder)
    for (name, bytes) in files { try Folder.write(bytes, to: "\(folder)/\(name)") }
  }

  /// One of the versions that may have survived: of those from the floor to the time, mostly the
  /// last.
  static func choose<Value>(
    _ versions: [History.Version<Value>], _ floor: Int, _ time: Int,
    _ random: inout SeededGenerator
  ) -> Value? {
    let first = versions.lastIndex { $0.time <= floor } ?? 0
    guard let last = versions.lastIndex(where: { $0.time <= time }) else { return nil }
    switch random.pick(0, 0, 1, 2) {
    case 0: return versions[last].value
    case 1: return versions[min(first, last)].value
    default: return versions[Int.random(in: min(first, last)...last, using: &random)].value
    }
  }

  /// Makes a file say that it was written before the machine was started.
  static func reboot(_ bytes: UnsafeMutableRawBufferPointer) {
    guard bytes.count >= FileHeaderLayout.size else { return }
    let fileHeader = UnsafeRawBufferPointer(rebasing: bytes[..<FileHeaderLayout.checksum])
    let checksum = UnsafeRawBufferPointer(bytes).load(FileHeaderLayout.checksum, as: UInt32.self)
    // A corrupted file header stays so.
    guard crc32c(fileHeader) == checksum else { return }
    for index in 0..<16 { bytes[FileHeaderLayout.bootID + index] = UInt8(0xA0 + index) }
    bytes.store(crc32c(fileHeader), FileHeaderLayout.checksum)
  }
}
