import CHarness
import Glibc

/// A number in a file's page, which outlives the process that counts.
///
/// Proof of `@unchecked Sendable`: its word is touched by atomic operations only.
final class SharedCount: @unchecked Sendable {
  private let word: UnsafeMutablePointer<UInt64>

  init(_ path: String) throws {
    let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    defer { close(file) }
    guard file >= 0, ftruncate(file, 4096) == 0,
      let page = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), page != MAP_FAILED
    else { throw BenchmarkError("\(path) cannot be mapped") }
    word = page.bindMemory(to: UInt64.self, capacity: 1)
  }

  deinit { munmap(word, 4096) }

  var value: Int {
    get { Int(harness_load_acquire(word)) }
    set { harness_store_release(word, UInt64(newValue)) }
  }
}
