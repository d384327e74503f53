import Foundation
import MMLog
import MMLogFormat
import MMLogShipping
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

/// Whole archives, and how they are shipped.
@Suite struct ArchiveShippingTests {
  final class Shelf: ArchiveDestination {
    let names = LockedValue<[String]>([])
    let tries = LockedValue(0)
    let rule: @Sendable (SealedArchive, Int) async throws -> Void

    init(_ rule: @escaping @Sendable (SealedArchive, Int) async throws -> Void = { _, _ in }) {
      self.rule = rule
    }

    func send(_ archive: SealedArchive) async throws -> String? {
      let number = tries.withLock {
        $0 += 1
        return $0
      }
      try await rule(archive, number)
      names.withLock { $0.append(archive.info.fileName) }
      return "receipt \(archive.info.number) \(archive.identity.storeName)"
    }
  }

  private func archives(_ test: ShippedStore) throws -> [ArchiveInfo] {
    try Catalog(of: test.folder.path, store: nil).scan().filter(\.isSealed)
  }

  private var quick: ArchiveShipper.Configuration {
    var configuration = ArchiveShipper.Configuration()
    configuration.retry = .forever(first: .milliseconds(1), longest: .milliseconds(2))
    configuration.blockedPause = .milliseconds(1)
    configuration.scanInterval = .milliseconds(5)
    return configuration
  }

  private func logged(_ count: Int) async throws -> ShippedStore {
    let test = try ShippedStore()
    for number in 1...count {
      test.log.info("record \(number)")
      _ = try await test.store.rotate()
    }
    return test
  }

  @Test("each sealed archive is shipped once, the oldest first, and keeps its receipt")
  func receipts() async throws {
    let test = try await logged(3)
    let shelf = Shelf { _, number in
      if number == 2 { throw DeliveryError.unavailable("again") }
      if number == 3 { throw DeliveryError.blocked("password") }
    }
    let shipper = try ArchiveShipper(of: test.folder.path, to: shelf, configuration: quick)
    #expect(try await shipper.shipAll() == 3)
    #expect(try await shipper.shipAll() == 0)
    let archives = try archives(test)
    #expect(shelf.names.withLock { $0 } == archives.map(\.fileName))
    #expect(archives.map(\.state.receipt) == (1...3).map { "receipt \($0) test" })
    #expect(archives.allSatisfy { $0.state.isUploaded && $0.state.lease == nil })
  }

  @Test("an archive that is refused stays, with the reason, until it is tried again by request")
  func refused() async throws {
    let test = try await logged(3)
    let isChanged = LockedValue(false)
    let shelf = Shelf { archive, _ in
      if archive.info.number == 2, !isChanged.withLock(\.self) {
        throw DeliveryError.refused("not this one")
      }
    }
    let shipper = try ArchiveShipper(of: test.folder.path, to: shelf, configuration: quick)
    #expect(try await shipper.shipAll() == 2)
    #expect(try await shipper.shipAll() == 0)
    #expect(shelf.tries.withLock { $0 } == 3)
    let attribute = try archives(test)[1].state.attributes[ArchiveShipper.refusedAttribute]
    #expect(attribute == "not this one")
    #expect(try await shipper.retryRefused() == 0)
    #expect(try shipper.refused().map(\.number) == [2])

    isChanged.withLock { $0 = true }
    #expect(try await shipper.shipAll() == 0, "nobody has asked")
    #expect(try await shipper.retryRefused() == 1)
    #expect(try shipper.refused().isEmpty)
    let archive = try archives(test)[1]
    #expect(archive.state.isUploaded && archive.state.attributes.isEmpty)
  }

  @Test("an archive that another has leased is left to it")
  func leased() async throws {
    let test = try await logged(2)
    let catalog = Catalog(of: test.folder.path, store: nil)
    let first = try archives(test)[0]
    _ = try catalog.acquireLease(on: first, by: "another", for: .seconds(600))
    let shelf = Shelf()
    let shipper = try ArchiveShipper(of: test.folder.path, to: shelf, configuration: quick)
    #expect(try await shipper.shipAll() == 1)
  }

  #if DEBUG
    @Test("a lease whose renewal fails is renewed later, and the upload goes on")
    func failedRenewal() async throws {
      let test = try await logged(1)
      let path = test.folder.path
      var configuration = quick
      configuration.lease = .seconds(1)
      let catalog = Catalog(of: path, store: nil)
      let shelf = Shelf { archive, _ in
        ForcedFault.force(.fsetxattr, errno: EIO, onCall: 1, under: path)
        let first = try catalog.scan().first?.state.lease?.expiry ?? .distantPast
        try await wait {
          try Task.checkCancellation()
          return try catalog.scan().first?.state.lease?.expiry ?? first > first
        }
      }
      defer { ForcedFault.clear(under: path) }
      let shipper = try ArchiveShipper(of: path, to: shelf, configuration: configuration)
      #expect(try await shipper.shipAll() == 1)
      #expect(ForcedFault.struckPaths.contains { $0.hasPrefix(path) })
      #expect(try archives(test).allSatisfy { $0.state.isUploaded && $0.state.lease == nil })
    }

    @Test("an upload whose lease cannot be renewed in time is broken off, and that is reported")
    func lostLease() async throws {
      let test = try await logged(1)
      let path = test.folder.path
      var configuration = quick
      configuration.lease = .seconds(1)
      let shelf = Shelf { _, _ in
        ForcedFault.force(.fsetxattr, errno: EIO, onCall: 1, times: .max, under: path)
        try await Task.sleep(for: .seconds(3600))
      }
      defer { ForcedFault.clear(under: path) }
      let shipper = try ArchiveShipper(of: path, to: shelf, configuration: configuration)
      let error = await #expect(throws: LogError.self) { try await shipper.shipAll() }
      #expect(error?.systemErrorNumber == EIO)
      #expect(try archives(test).allSatisfy { !$0.state.isUploaded })
    }
  #endif

  @Test("an archive that cannot be read keeps no other waiting, and is reported once")
  func failing() async throws {
    let test = try await logged(3)
    let isReadable = LockedValue(false)
    let shelf = Shelf { archive, _ in
      if archive.info.number == 1, !isReadable.withLock(\.self) {
        throw LogError(.system, "the disk fails")
      }
    }
    let shelved = { shelf.names.withLock { $0.count } }
    let shipper = try ArchiveShipper(of: test.folder.path, to: shelf, configuration: quick)
    let error = await #expect(throws: LogError.self) { try await shipper.shipAll() }
    #expect(error?.message == "the disk fails" && shelved() == 2)
    test.log.info("another")
    _ = try await test.store.rotate()
    let events = shipper.events
    try shipper.start()
    try await wait { shelved() == 3 }
    let tries = shelf.tries.withLock { $0 }
    try await wait { shelf.tries.withLock { $0 } >= tries + 5 }
    isReadable.withLock { $0 = true }
    try await wait { shelved() == 4 }
    await shipper.stop()
    var failures = 0
    for await event in events {
      if case .failed = event { failures += 1 }
      if case .shipped(let archive, _) = event, archive.number == 1 { break }
    }
    #expect(failures == 1)
  }

  @Test("each archive that cannot be read is reported once")
  func severalFailing() async throws {
    let test = try await logged(3)
    let shelf = Shelf { archive, _ in
      if archive.info.number < 3 { throw LogError(.system, "the disk fails") }
    }
    let shipper = try ArchiveShipper(of: test.folder.path, to: shelf, configuration: quick)
    let error = await #expect(throws: LogError.self) { try await shipper.shipAll() }
    #expect(error?.message == "the disk fails" && shelf.tries.withLock { $0 } == 3)
    try shipper.start()
    try await wait { shelf.tries.withLock { $0 } >= 11 }
    await shipper.stop()
    var failures = 0
    for await event in shipper.events { if case .failed = event { failures += 1 } }
    // The first run threw one failure and reported the other. The second run reported both.
    #expect(failures == 3)
  }

  @Test("an archive that has lost its file header is not leased, and is reported once")
  func lostFileHeader() async throws {
    let test = try await logged(3)
    let second = try archives(test)[1]
    do {
      let file = try FileHandle(forUpdating: URL(filePath: second.path))
      try file.write(contentsOf: Data(count: FileHeaderLayout.size))
    }
    let shelf = Shelf()
    let shipper = try ArchiveShipper(of: test.folder.path, to: shelf, configuration: quick)
    let error = await #expect(throws: LogError.self) { try await shipper.shipAll() }
    #expect(error?.code == .corruptedFile && error?.path == second.path)
    #expect(shelf.tries.withLock { $0 } == 2)
    try shipper.start()
    for _ in 1...2 {
      let count = shelf.tries.withLock { $0 }
      test.log.info("another")
      _ = try await test.store.rotate()
      try await wait { shelf.tries.withLock { $0 } > count }
    }
    await shipper.stop()
    var failures: [LogError] = []
    for await event in shipper.events {
      if case .failed(let error) = event { failures.append(error) }
    }
    #expect(failures.map(\.path) == [second.path])
    #expect(try test.folder.names().filter { $0.hasPrefix(second.fileName) } == [second.fileName])
  }

  @Test("archives are shipped as they are sealed")
  func continuously() async throws {
    let test = try await logged(1)
    let shelf = Shelf()
    let shipper = try ArchiveShipper(of: test.folder.path, to: shelf, configuration: quick)
    try shipper.start()
    test.log.info("another")
    _ = try await test.store.rotate()
    try await wait { shelf.names.withLock { $0.count } == 2 }
    await shipper.stop()
  }
}
