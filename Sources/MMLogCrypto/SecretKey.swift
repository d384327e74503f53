import MMLogSystem

/// A key that is in memory only as long as it is needed: see ``SecretMemory``.
package final class SecretKey: Sendable {
  private let memory: SecretMemory
  /// How many bytes it has.
  package let count: Int

  /// Makes a key that nobody can guess.
  package static func random(_ count: Int = 32) throws(CryptoError) -> SecretKey {
    try SecretKey(count) { (bytes) throws(CryptoError) in try Cryptography.fillRandom(bytes) }
  }

  /// Makes a key with the bytes that `fill` stores.
  package init(
    _ count: Int, _ fill: (UnsafeMutableRawBufferPointer) throws(CryptoError) -> Void
  ) throws(CryptoError) {
    do throws(SystemError) {
      memory = try SecretMemory(count: count)
    } catch {
      throw .system("there is no memory for a key: \(error)")
    }
    self.count = count
    try fill(UnsafeMutableRawBufferPointer(rebasing: memory.bytes[..<count]))
  }

  /// Whether the key is in no core dump, is not swapped out, and is zero in a child of fork.
  package var isProtected: Bool { memory.isProtected }

  /// Gives the key's bytes to `body`, valid as long as `body` runs.
  package func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    defer { withExtendedLifetime(memory) {} }
    return try body(UnsafeRawBufferPointer(rebasing: memory.bytes[..<count]))
  }
}
