import MMLogSystem
import Testing

@Suite("Locks")
struct LockTests {
  let folder = TemporaryDirectory()

  @Test("a lock is seen from a second descriptor of the same process, and gone after unlocking")
  func seen() throws {
    let path = folder.put("file")
    let holder = try File.open(path, .write)
    let other = try File.open(path, .write)
    let reader = try File.open(path, .read)
    #expect(try holder.tryLock())
    #expect(try !other.tryLock())
    #expect(try reader.isLockedByAnother())
    #expect(try !holder.isLockedByAnother())
    try holder.unlock()
    #expect(try !reader.isLockedByAnother())
    #expect(try other.tryLock())
  }

  @Test("a lock goes with its file, and not with another descriptor of it")
  func dropped() throws {
    let path = folder.put("file")
    let other = try File.open(path, .write)
    do {
      let holder = try File.open(path, .write)
      #expect(try holder.tryLock())
      try File.open(path, .write).close()
      #expect(try other.isLockedByAnother())
    }
    #expect(try other.tryLock())
  }

  @Test("waiting for a lock ends when it is given back")
  func waiting() throws {
    let path = folder.put("file")
    let holder = try File.open(path, .write)
    try holder.lock()
    let gotIt = Box(false)
    let waiter = try Thread(name: "lock waiter") {
      #expect(throws: Never.self) { try File.open(path, .write).lock() }
      gotIt.value = true
    }
    #expect(!gotIt.value)
    try holder.unlock()
    waiter.join()
    #expect(gotIt.value)
  }
}
