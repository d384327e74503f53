import Glibc
import MMLogSystem
import Testing
import TestSupport

extension File {
  /// Writes text at an offset.
  func write(text: String, at offset: Int = 0) throws {
    try Array(text.utf8).withUnsafeBytes { try writeFully($0, at: offset) }
  }

  /// Up to `count` bytes from an offset as text.
  func text(_ count: Int, at offset: Int = 0) throws(SystemError) -> String {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
    defer { buffer.deallocate() }
    return String(decoding: buffer[..<(try readFully(into: buffer, at: offset))], as: UTF8.self)
  }
}

/// True where the process has the file mapped.
func isMapped(_ path: String) throws -> Bool {
  try kernelText("/proc/self/maps").contains(path)
}

/// What `body` threw, nil if it did not.
func failure(_ body: () throws -> Void) -> SystemError? { thrown(SystemError.self, by: body) }

/// What closing a file threw, nil if it did not.
func failure(closing file: consuming File) -> SystemError? {
  do throws(SystemError) {
    try file.close()
    return nil
  } catch {
    return error
  }
}

/// A value that threads share.
final class Box<Value: Sendable>: Sendable {
  private let storage: LockedValue<Value>
  init(_ value: Value) { storage = LockedValue(value) }
  var value: Value {
    get { storage.withLock { $0 } }
    set { storage.withLock { $0 = newValue } }
  }
}

/// A word on the heap, never freed: its pointer does not keep it alive, and may outlive its maker.
///
/// Proof of `@unchecked Sendable`: touched by atomic operations only.
struct SharedWord: @unchecked Sendable {
  let pointer = UnsafeMutablePointer<UInt32>.allocate(capacity: 1)

  init() {
    pointer.initialize(to: 0)
    let address = UInt(bitPattern: pointer)
    Self.addresses.withLock { $0.append(address) }
  }

  /// Where the leak checker finds them.
  private static let addresses = LockedValue<[UInt]>([])
}
