import MMLogCrypto

/// What a process's handler of fatal signals wrote before its death.
///
/// Immutable; any thread.
public struct CrashReport: Equatable, Sendable {
  /// A program or library that had code in the backtrace.
  public struct Module: Equatable, Sendable {
    /// By how much its addresses were moved when it was loaded.
    public let base: UInt64
    /// Where its code ended.
    public let end: UInt64
    /// The build id that its linker gave it, up to 20 bytes; empty if there is none.
    public let buildID: [UInt8]
    /// The file, or the last 88 bytes of its path.
    public let path: String
  }

  /// The signal's number.
  public let signal: Int32
  /// Why it was raised: `si_code`, see `sigaction(2)`.
  public let code: Int32
  /// The process that sent it; 0 if it was not sent.
  public let sender: UInt32
  /// The address that the kernel named: of the memory that could not be used, or of the
  /// instruction.
  public let address: UInt64
  /// The id of the thread that crashed.
  public let threadID: UInt32
  /// The thread's name, at most 16 bytes.
  public let threadName: String
  /// When the process crashed.
  public let time: Timestamp
  /// When the process crashed, by the counter that the session's records have.
  public let ticks: UInt64
  /// The processor, as ELF numbers them: 62 x86-64, 183 AArch64.
  public let machine: UInt16
  /// The registers, as ``registerNames`` names them.
  public let registers: [UInt64]
  /// The address of the crash, and then the return addresses of the functions that were under way,
  /// the innermost first. Empty if the stack could not be walked.
  public let frames: [UInt64]
  /// Whether there were more frames than the 128 that are kept.
  public let hasMoreFrames: Bool
  /// Whether some frames were found by searching for what looks like one, because functions of the
  /// C library leave no frame: some may be missing or wrong.
  public let isGuessed: Bool
  /// The modules that the frames are in.
  public let modules: [Module]
  /// What the runtime of the language said before it ended the process, such as
  /// `Orders/Book.swift:42: Fatal error: Index out of range`, or the type of a C++ exception; at
  /// most 424 bytes, empty if nothing is known. Not escaped.
  public let message: String
  /// The bytes as they stand on disk.
  package let encoded: [UInt8]
  /// The part of the ring's stream ``RingCipher/crashStream`` that encrypts all but the signal, the
  /// thread and the time, counted from 1; 0: nothing is encrypted.
  private let part: Int

  /// Whether registers, frames, modules and message are left out, since they are encrypted.
  package var isEncrypted: Bool { part > 0 }

  /// The size of the stream that reports are encrypted with.
  package static let streamSize = Int(CrashLayout.parts) * CrashLayout.size

  /// Reads a report as it stands in a ring and in an archive; nil if there is no complete report
  /// with a right checksum.
  package init?(_ bytes: UnsafeRawBufferPointer) {
    typealias Layout = CrashLayout
    guard bytes.count >= Layout.size else { return nil }
    let bytes = bytes.slice(0, Layout.size)
    let states = [Layout.stateComplete, Layout.stateReturned]
    guard states.contains(bytes.load(Layout.state, as: UInt8.self)),
      bytes.load(Layout.checksum, as: UInt32.self)
        == crc32c(bytes.slice(Layout.signal, Layout.size - Layout.signal))
    else { return nil }
    let flags = bytes.load(Layout.flags, as: UInt16.self)
    part = Int(flags >> Layout.partShift)
    // What is encrypted cannot be read here.
    let counts =
      part > 0
      ? (0, 0, 0)
      : (
        Int(bytes.load(Layout.registerCount, as: UInt8.self)),
        Int(bytes.load(Layout.frameCount, as: UInt16.self)),
        Int(bytes.load(Layout.moduleCount, as: UInt8.self))
      )
    guard counts.0 <= Layout.maximumRegisters, counts.1 <= Layout.maximumFrames,
      counts.2 <= Layout.maximumModules
    else { return nil }
    func words(_ offset: Int, _ count: Int) -> [UInt64] {
      (0..<count).map { bytes.load(offset + $0 * 8, as: UInt64.self) }
    }
    signal = bytes.load(Layout.signal, as: Int32.self)
    code = bytes.load(Layout.code, as: Int32.self)
    sender = bytes.load(Layout.sender, as: UInt32.self)
    address = bytes.load(Layout.address, as: UInt64.self)
    threadID = bytes.load(Layout.thread, as: UInt32.self)
    threadName = bytes.text(Layout.threadName, Layout.threadNameSize)
    time = bytes.load(Layout.wall, as: Timestamp.self)
    ticks = bytes.load(Layout.ticks, as: UInt64.self)
    machine = bytes.load(Layout.machine, as: UInt16.self)
    registers = words(Layout.registers, counts.0)
    frames = words(Layout.frames, counts.1)
    hasMoreFrames = flags & Layout.hasMoreFrames != 0
    isGuessed = flags & Layout.isGuessed != 0
    message = part > 0 ? "" : Self.message(bytes, isException: flags & Layout.isException != 0)
    modules = (0..<counts.2).map {
      Module(bytes.slice(Layout.modules + $0 * Layout.moduleSize, Layout.moduleSize))
    }
    encoded = Array(bytes.prefix(1)) + [0, 0, 0] + Array(bytes[Layout.checksum...])
  }

  private static func message(_ bytes: UnsafeRawBufferPointer, isException: Bool) -> String {
    let text = bytes.text(CrashLayout.message, CrashLayout.messageSize)
    return isException ? "C++ exception \(CPlusPlusName.ofType(text))" : String(text.trimmed())
  }

  /// The decrypted report; this report itself if it is not encrypted, or cannot be decrypted.
  package func clear(with cipher: RingCipher?) -> CrashReport {
    cipher.flatMap { try? decrypted(with: $0) } ?? self
  }

  private func decrypted(with cipher: RingCipher) throws(CryptoError) -> CrashReport {
    guard part > 0, part <= Int(CrashLayout.parts) else { return self }
    var bytes = encoded
    let flags = UInt16(truncatingIfNeeded: bytes[CrashLayout.flags])
    try cipher.combine(
      &bytes, behind: CrashLayout.registers, withStream: RingCipher.crashStream,
      from: (part - 1) * CrashLayout.size)
    return bytes.withUnsafeMutableBytes { bytes in
      bytes.store(flags, CrashLayout.flags)
      let checked = UnsafeRawBufferPointer(bytes)
        .slice(CrashLayout.signal, CrashLayout.size - CrashLayout.signal)
      bytes.store(crc32c(checked), CrashLayout.checksum)
      return CrashReport(UnsafeRawBufferPointer(bytes)) ?? self
    }
  }

  /// How many signals the process had survived without having made a record of them, as the place
  /// of a report says; nil if the count and its copy differ.
  package static func survivals(_ bytes: UnsafeRawBufferPointer) -> UInt8? {
    let count = bytes.load(CrashLayout.survivals, as: UInt8.self)
    let copy = bytes.load(CrashLayout.survivalsCopy, as: UInt8.self)
    return count == copy ? count : nil
  }

  /// The module that an address was in; nil if none is known.
  ///
  /// - Complexity: O(modules).
  public func module(of address: UInt64) -> Module? {
    modules.filter { $0.base <= address && address < $0.end }.max { $0.base < $1.base }
  }

  /// Whether the kernel named ``address``. The kernel names none for a signal that was sent, nor if
  /// it says only that it raised the signal itself, as for an address that no memory can have.
  package var hasAddress: Bool { code > 0 && code != Self.kernelCode }

  /// `SI_KERNEL`.
  private static let kernelCode: Int32 = 128

  /// The names of ``registers`` on that processor; empty if the processor is not known.
  public var registerNames: [String] {
    switch machine {
    case 62:
      ["rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp"]
        + (8...15).map { "r\($0)" } + ["rip", "eflags"]
    case 183: (0...30).map { "x\($0)" } + ["sp", "pc", "pstate"]
    default: []
    }
  }
}

extension CrashReport.Module {
  fileprivate init(_ bytes: UnsafeRawBufferPointer) {
    typealias Layout = CrashLayout
    base = bytes.load(Layout.moduleBase, as: UInt64.self)
    end = bytes.load(Layout.moduleEnd, as: UInt64.self)
    let size = min(Int(bytes.load(Layout.buildIDSize, as: UInt32.self)), Layout.maximumBuildID)
    buildID = Array(bytes.slice(Layout.buildID, size))
    path = bytes.text(Layout.modulePath, Layout.modulePathSize)
  }
}

extension CrashReport {
  /// The signal's name, as in `SIGSEGV`; `signal 77` if it has no name here.
  public var signalName: String {
    MMLogFormat.signalName(signal)
  }

  /// What happened, in a line:
  /// `SIGSEGV (no memory at this address) at 0x10 in thread 4711 (worker)`.
  public var summary: String {
    let why = reason.isEmpty ? "" : " (\(reason))"
    let place = hasAddress ? " at 0x\(String(address, radix: 16))" : ""
    let name = threadName.isEmpty ? "" : " (\(threadName))"
    return "\(signalName)\(why)\(place) in thread \(threadID)\(name)"
  }

  /// The address of the crash and those of its callers, in a line:
  /// `/usr/bin/orders+0x1e10 /lib/libc.so.6+0x3c050`, as `addr2line(1)` takes it; an address alone
  /// if its module is not known.
  ///
  /// - Parameter size: The maximum size of the text in bytes: the last addresses are left out.
  package func places(atMost size: Int) -> String {
    var text = ""
    for address in frames {
      let place = place(of: address)
      if text.utf8.count + 1 + place.utf8.count > size { break }
      text += text.isEmpty ? place : " \(place)"
    }
    return text
  }

  /// An address as `addr2line(1)` takes it: `/usr/bin/orders+0x1e10`.
  package func place(of address: UInt64) -> String {
    let module = module(of: address)
    let offset = String(address &- (module?.base ?? 0), radix: 16)
    return "\(module.map { "\($0.path)+" } ?? "")0x\(offset)"
  }

  /// What ``code`` means, as in `no memory at this address`; empty if there is nothing to say.
  public var reason: String {
    if code <= 0 { return sender == 0 ? "" : "sent by process \(sender)" }
    return Self.reasons[signal]?[code] ?? ""
  }

  private static let reasons: [Int32: [Int32: String]] = [
    4: [1: "illegal opcode", 2: "illegal operand", 5: "privileged opcode"],
    5: [1: "breakpoint", 2: "trace trap"],
    7: [1: "misaligned address", 2: "nonexistent memory", 3: "memory error"],
    8: [1: "integer divided by zero", 2: "integer overflow", 3: "divided by zero"],
    11: [
      1: "no memory at this address", 2: "not allowed at this address",
      kernelCode: "address of no kind",
    ],
    31: [1: "system call forbidden by a filter"],
  ]
}
