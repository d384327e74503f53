import MMLogCrypto
import MMLogFormat
import MMLogStorage
import MMLogSystem

// The checks of a configuration, in the order in which they report.

extension LogStore.Configuration {
  /// Checks all settings, and returns the ring's areas.
  func checkedGeometry() throws(LogError) -> RingGeometry {
    let segmentSize = segmentSize ?? Self.segmentSize(ringSize: ringSize)
    try checkNumbers(segmentSize)
    try checkTraits()
    try checkTimes()
    try checkLevels()
    guard segmentSize % 4096 == 0, firstDictionarySize % 4096 == 0 else {
      throw Self.invalid("segmentSize and dictionarySize must be multiples of 4096")
    }
    try Self.check(settings)
    try checkLimits()
    return try geometry(segmentSize)
  }

  private static func segmentSize(ringSize: Int) -> Int {
    min(max(4 << 10, ringSize / 64 & ~4095), 256 << 10)
  }

  private func checkNumbers(_ segmentSize: Int) throws(LogError) {
    try check((256 << 10)...(4 << 30), ringSize, "ringSize", "256 KiB to 4 GiB")
    try check((4 << 10)...(16 << 20), segmentSize, "segmentSize", "4 KiB to 16 MiB")
    try check((4 << 10)...(64 << 20), firstDictionarySize, "dictionarySize", "4 KiB to 64 MiB")
    try check(0...9, compressionLevel, "compressionLevel", "0 to 9")
    try check(1...2, drainThreads, "drainThreads", "1 to 2")
  }

  /// Checks for what this build of mmlog may lack.
  private func checkTraits() throws(LogError) {
    guard compression.format.isAvailable else {
      throw Self.invalid(
        "compression is zstd, which needs mmlog's trait Zstd: add traits: [\"Zstd\"] to the "
          + "package's dependency on mmlog, and install libzstd-dev; or choose zlib")
    }
    for (setting, isSet) in [("recipients", !recipients.isEmpty), ("hashChain", hashChain)]
    where isSet && !Cryptography.isAvailable {
      throw Self.invalid(
        "\(setting) needs mmlog's trait Encryption\(LogError.encryptionAdvice)")
    }
    guard recipients.count <= KeySlot.mostRecipients else {
      throw Self.invalid(
        "recipients has \(recipients.count) keys: \(KeySlot.mostRecipients) is the maximum")
    }
  }

  private func checkTimes() throws(LogError) {
    try check(
      .milliseconds(10)...(.seconds(3600)), drainInterval, "drainInterval", "10 ms to 1 h")
    try check(
      .milliseconds(1)...(.seconds(86400)), captureTime, "captureTime", "1 ms to a day")
  }

  private func checkLevels() throws(LogError) {
    guard archiveLevel < .off else {
      throw Self.invalid("archiveLevel is off: no record would ever reach an archive")
    }
    if let captureLevel, captureLevel < archiveLevel {
      throw Self.invalid(
        "captureLevel is below archiveLevel: a record that stays in the ring captures nothing")
    }
    guard autoPrivacy.resolved(.private) == autoPrivacy else {
      throw Self.invalid("autoPrivacy must be public, private, hash or sealed")
    }
  }

  private func checkLimits() throws(LogError) {
    let thresholds = [("pendingThreshold", pendingThreshold), ("sizeThreshold", sizeThreshold)]
    for case (let name, let threshold?) in thresholds where threshold <= 0 {
      throw Self.invalid("\(name) is \(threshold): it must be greater than 0, or nil for none")
    }
    if let syncInterval, syncInterval < .milliseconds(10) {
      throw Self.invalid("syncInterval is shorter than 10 ms")
    }
    if ringDirectory?.isEmpty == true {
      throw Self.invalid(
        "ringDirectory is empty: give a path, or nil for the archives' directory")
    }
    if case .wait(let limit) = fullRing, limit < .zero {
      throw Self.invalid("fullRing waits for a negative time")
    }
  }

  private func geometry(_ segmentSize: Int) throws(LogError) -> RingGeometry {
    let dictionarySize = firstDictionarySize
    let slots = encryptsRing ? KeySlotsLayout.areaSize : 0
    let room = ringSize - RingLayout.dictionary - slots - dictionarySize
    let largest = min(dictionarySize * Ring.dictionaryGrowth, RingLayout.largestDictionary)
    guard room / segmentSize >= 8 else {
      throw Self.invalid(
        "ringSize is \(ringSize): it must have room for 8 segments of \(segmentSize) bytes "
          + "beside the dictionary of \(dictionarySize)"
          + (encryptsRing ? " and the key slots of \(slots)" : "")
          + "; make it larger, or those smaller")
    }
    return RingGeometry(
      dictionarySize: largest, segmentSize: segmentSize,
      segmentCount: (room + segmentSize - 1) / segmentSize, isEncrypted: encryptsRing)
  }

  /// Checks the settings of file access, and returns what access files are made with.
  func checkedFileAccess() throws(LogError) -> FileAccess {
    let octal = "0o" + String(fileMode, radix: 8)
    let (ownersReadAndWrite, all): (UInt32, UInt32) = (0o600, 0o644)
    guard fileMode & ownersReadAndWrite == ownersReadAndWrite else {
      throw Self.invalid(
        "fileMode is \(octal): the owner must be able to read and write, as with 0o640")
    }
    guard fileMode & ~all == 0 else {
      throw Self.invalid(
        "fileMode is \(octal): beside the owner's right to read and write, it may give its group "
          + "and others the right to read only, as 0o640 does")
    }
    guard let fileGroup else { return FileAccess(mode: fileMode, group: nil) }
    guard let group = Groups.number(of: fileGroup) else {
      throw Self.invalid(
        "fileGroup is \"\(fileGroup)\", which no group has as its name: getent(1) group lists all"
      )
    }
    return FileAccess(mode: fileMode, group: group)
  }

  static func check(_ settings: StoreSettings) throws(LogError) {
    if let problem = settings.problem { throw invalid(problem) }
  }

  private func check<T: Comparable>(
    _ range: ClosedRange<T>, _ value: T, _ name: String, _ words: String
  ) throws(LogError) {
    guard range.contains(value) else {
      throw Self.invalid("\(name) is \(value): it must be from \(words)")
    }
  }

  private static func invalid(_ message: String) -> LogError {
    LogError(.invalidConfiguration, "The configuration is not valid: \(message).")
  }
}
