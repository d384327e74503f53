import MMLogCalls

/// What is logged.
enum Workload: String, CaseIterable {
  /// `order 812093 accepted for trader-017 in 42.25 ms, quantity 17`: two integers, a text, a
  /// floating-point number.
  case order
  /// A text of 100 bytes that is known at run time only.
  case text
  /// A line of a real log, or one like it.
  case line
  /// A constant message and five pairs of a name and a value. A logger that knows no metadata puts
  /// them into the message.
  case pairs
  /// A constant message and five pairs of strings that are known at run time only.
  case strings
  /// One of 20 call sites after the other, with an integer and a text.
  case sites
  /// As ``sites``, with call sites at random, out of many.
  case manySites
  /// A message below the level.
  case disabled
  /// A constant message.
  case message
  /// A constant message of a logger that has five pairs with each record.
  case bound
  /// A constant message of a logger that has a span and a trace with each record.
  case traced

  /// The workload's name in tables.
  var title: String {
    switch self {
    case .order: "order"
    case .text: "100-byte text"
    case .line: "log lines"
    case .pairs: "five pairs"
    case .strings: "five strings"
    case .sites: "20 call sites"
    case .manySites: "2000 call sites"
    case .disabled: "disabled"
    case .message: "message alone"
    case .bound: "five bound fields"
    case .traced: "span and trace"
    }
  }
}

/// What a logger is opened for.
enum Purpose {
  /// Measuring calls: with so much room that none waits for the disk.
  case latency
  /// As a service would use it: with the logger's own defaults, and no message dropped.
  case service
}

/// A logger, or what stands in for one, with one function for each workload. These functions are
/// measured; none is inlined, so that each costs a call.
///
/// The protocol is only there for the compiler to specialize by: nothing measured goes through a
/// witness table.
protocol Contender: Sendable {
  static var name: String { get }
  static var workloads: [Workload] { get }
  /// How many calls are made back to back: fewer for loggers whose calls take microseconds, or that
  /// have room for fewer.
  static var calls: Int { get }
  /// Whether it sustains more than about a million records a second.
  static var isFast: Bool { get }

  /// - Parameter directory: A folder of its own.
  init(directory: String, for purpose: Purpose) throws

  func order(_ order: Order)
  func text(_ text: Text)
  func pairs(_ order: Order)
  func strings(_ order: Order, _ text: Text)
  /// - Parameter number: 0 to 19.
  func site(_ number: Int, _ order: Order)
  func manySites(_ number: Int, _ order: Order)
  func disabled(_ order: Order)
  func message(_ index: Int)
  func bound(_ index: Int)
  func traced(_ index: Int)

  /// Returns what another thread logs to; ``afterThread()`` is called when that thread has ended.
  func forThread(_ number: Int) throws -> Self
  func afterThread() throws
  /// Returns when all is written. Never part of what is measured.
  func drain() throws
  /// Writes everything and closes. Nothing is logged afterwards.
  func finish() throws

  /// How many whole records can be read from the directory of a dead process.
  static func records(in directory: String) throws -> Int
}

extension Contender {
  static var workloads: [Workload] { [.order, .text, .line, .pairs, .sites, .disabled] }
  static var calls: Int { 20_000 }
  static var isFast: Bool { false }

  func text(_ text: Text) { preconditionFailure("not among the workloads") }
  func pairs(_ order: Order) { preconditionFailure("not among the workloads") }
  func strings(_ order: Order, _ text: Text) { preconditionFailure("not among the workloads") }
  func site(_ number: Int, _ order: Order) { preconditionFailure("not among the workloads") }
  func manySites(_ number: Int, _ order: Order) {
    preconditionFailure("not among the workloads")
  }
  func disabled(_ order: Order) { preconditionFailure("not among the workloads") }
  func message(_ index: Int) { preconditionFailure("not among the workloads") }
  func bound(_ index: Int) { preconditionFailure("not among the workloads") }
  func traced(_ index: Int) { preconditionFailure("not among the workloads") }

  func forThread(_ number: Int) throws -> Self { self }
  func afterThread() throws { try drain() }
  func drain() throws {}
  func finish() throws {}

  /// Counts the lines of loggers that write lines.
  static func records(in directory: String) throws -> Int {
    Files.list(directory).map(Files.lines).reduce(0, +)
  }
}
