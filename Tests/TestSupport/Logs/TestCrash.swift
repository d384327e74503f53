package import MMLogFormat

extension CrashReport {
  /// The bytes of a crash report with their checksum: zeros, except for what `change` writes.
  package static func bytes(_ change: (UnsafeMutableRawBufferPointer) -> Void) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: CrashLayout.size)
    bytes.withUnsafeMutableBytes { bytes in
      change(bytes)
      bytes.store(CrashLayout.stateComplete, CrashLayout.state)
      let checked = UnsafeRawBufferPointer(rebasing: bytes[CrashLayout.signal...])
      bytes.store(crc32c(checked), CrashLayout.checksum)
    }
    return bytes
  }

  /// The bytes of a crash report of SIGSEGV at address 16, on x86-64, with a module from 0x1000 to
  /// 0x2000.
  package static func bytes(
    frames: [UInt64], registers: UInt8, module path: String,
    _ change: (UnsafeMutableRawBufferPointer) -> Void = { _ in }
  ) -> [UInt8] {
    bytes { report in
      report.store(11 as UInt32, CrashLayout.signal)
      report.store(1 as UInt32, CrashLayout.code)
      report.store(16 as UInt64, CrashLayout.address)
      report.store(62 as UInt16, CrashLayout.machine)
      report.store(registers, CrashLayout.registerCount)
      report.store(UInt16(frames.count), CrashLayout.frameCount)
      for (index, frame) in frames.enumerated() {
        report.store(frame, CrashLayout.frames + index * 8)
      }
      report.store(1 as UInt8, CrashLayout.moduleCount)
      report.store(0x1000 as UInt64, CrashLayout.modules)
      report.store(0x2000 as UInt64, CrashLayout.modules + CrashLayout.moduleEnd)
      report.store(
        text: path, CrashLayout.modules + CrashLayout.modulePath, CrashLayout.modulePathSize)
      change(report)
    }
  }
}
