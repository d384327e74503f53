package import MMLogFormat

extension CrashReport {
  /// The bytes of one, with their check: zeros, but for what is changed.
  package static func bytes(_ change: (UnsafeMutableRawBufferPointer) -> Void) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: CrashLayout.size)
    bytes.withUnsafeMutableBytes { bytes in
      change(bytes)
      bytes.store(CrashLayout.stateComplete, CrashLayout.state)
      let checked = UnsafeRawBufferPointer(rebasing: bytes[CrashLayout.signal...])
      bytes.store(crc32c(checked), CrashLayout.check)
    }
    return bytes
  }
}
