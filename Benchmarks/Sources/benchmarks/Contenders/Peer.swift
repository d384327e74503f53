import CxxLoggers
import Glibc
import MMLogCalls

/// A logger that `Benchmarks/Peers/build` has built from a copy of its sources, in a library.
protocol PeerName {
  static var name: String { get }
}

enum Quill: PeerName { static let name = "quill" }
enum Fmtlog: PeerName { static let name = "fmtlog" }
enum NanoLog: PeerName { static let name = "NanoLog" }
enum Binlog: PeerName { static let name = "binlog" }

/// The contender for such a logger.
///
/// Proof of `@unchecked Sendable`: each peer is made for many threads, and each process has one.
struct Peer<Name: PeerName>: Contender, @unchecked Sendable {
  static var name: String { Name.name }
  /// The peers' queues have a megabyte.
  static var calls: Int { 8000 }
  static var isFast: Bool { true }
  private let peer: UnsafePointer<peer_calls>
  private let directory: String

  init(directory: String, for purpose: Purpose) throws {
    peer = try Self.load()
    self.directory = directory
    guard peer.pointee.open(directory) == 1 else {
      throw BenchmarkError("\(Self.name) cannot make a file in \(directory)")
    }
  }

  /// The path of the peer's library, if it was built.
  static var library: String? {
    guard let folder = getenv("BENCHMARK_PEERS") else { return nil }
    let path = "\(String(cString: folder))/\(name).so"
    return access(path, R_OK) == 0 ? path : nil
  }

  private static func load() throws -> UnsafePointer<peer_calls> {
    guard let library, let peer = peer_load(library) else {
      throw BenchmarkError("the library of \(name) cannot be loaded")
    }
    return peer
  }

  @inline(never)
  func order(_ order: Order) {
    peer.pointee.order(
      UInt64(order.id), order.cUser, Order.userLength, order.elapsed, UInt64(order.quantity))
  }

  @inline(never) func text(_ text: Text) { peer.pointee.text(text.c, text.length) }

  @inline(never)
  func pairs(_ order: Order) {
    peer.pointee.pairs(
      UInt64(order.id), order.cUser, Order.userLength, order.elapsed, order.isLive ? 1 : 0,
      order.cSide, order.sideLength)
  }

  @inline(never)
  func site(_ number: Int, _ order: Order) {
    peer.pointee.site(UInt64(number), UInt64(order.id), order.cUser, Order.userLength)
  }

  @inline(never) func disabled(_ order: Order) { peer.pointee.disabled(UInt64(order.id)) }

  func drain() { peer.pointee.drain() }

  func finish() {
    peer.pointee.close()
    Files.list(directory).forEach(Files.sync)
  }

  static func records(in directory: String) throws -> Int {
    Int(try load().pointee.records(directory))
  }
}
