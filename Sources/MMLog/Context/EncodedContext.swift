import CMMLogCore
import CMMLogWriter
import MMLogFormat
import MMLogSystem
import Synchronization

/// A context as it stands in records. Nothing of it changes, but for what is atomic.
struct EncodedContext: ~Copyable {
  /// A span's number.
  let span: UInt64?
  let trace: TraceContext?
  /// Whole, with the values of a block by a key set, whose number is still to be entered.
  let words: UnsafeBufferPointer<UInt64>
  /// Where that block begins; as many as there are words if there are no fields.
  let blockStart: Int
  /// Behind how many words the rest is the same in all records.
  let fixedStart: Int
  /// What passes a check over that rest, and what the rest comes to: see mmlog_crc32c_skip.
  let (skip, check): (UInt32, UInt64)
  /// Whether something of the fields is missing: they are longer than a record may be, or there was
  /// no memory.
  let isCut: Bool
  /// The fields as a block of pairs; empty if there are none.
  let pairs: UnsafeBufferPointer<UInt64>
  /// The hash of names and types.
  private let hash: UInt64
  /// The key set's number in the session that was asked last, in the lowest bits, and above them
  /// that session's gate.
  private let knownNumber = Atomic<UInt64>(0)
  private static var numberMask: UInt64 { (1 << 20) - 1 }

  init(_ fields: Logger.Metadata, span: UInt64?, trace: TraceContext?) {
    (self.span, self.trace) = (span, trace)
    let encoded = Self.encode(fields)
    (pairs, hash, isCut) = (encoded.pairs, encoded.hash, encoded.isCut)
    let block = pairs.isEmpty ? [] : [0] + encoded.values
    let start = UnsafeMutablePointer<UInt64>.allocate(
      capacity: Self.longestHead + block.count)
    var next = start + 1
    var head = Self.appendHead(span, trace, to: &next)
    blockStart = next - start
    if !block.isEmpty { head |= ContextLayout.fieldsBit }
    for word in block {
      next.pointee = word
      next += 1
    }
    start.pointee = head | UInt64(next - start - 1)
    words = UnsafeBufferPointer(start: start, count: next - start)
    fixedStart = block.isEmpty ? 0 : blockStart + 1
    let fixed = words.dropFirst(fixedStart)
    skip = mmlog_crc32c_skip_constant(fixed.count)
    check = fixed.reduce(0) { mmlog_crc32c_word($0, $1) }
  }

  deinit {
    words.deallocate()
    pairs.deallocate()
  }

  /// The first word, a span's and a trace's, in words.
  private static var longestHead: Int { 5 }

  var hasFields: Bool { blockStart < words.count }

  /// The most words that it takes.
  var largestCount: Int { max(words.count, blockStart + pairs.count) }

  /// Writes what stands before the fields, behind the first word.
  ///
  /// - Parameter next: Where it goes, and then the place behind it.
  /// - Returns: What the first word says of it.
  static func appendHead(
    _ span: UInt64?, _ trace: TraceContext?, to next: inout UnsafeMutablePointer<UInt64>
  ) -> UInt64 {
    var head: UInt64 = 0
    if let span {
      head |= ContextLayout.spanBit
      next.pointee = span
      next += 1
    }
    if let trace {
      head |= ContextLayout.traceBit | UInt64(trace.flags) << ContextLayout.traceFlagsShift
      next[0] = trace.words.0
      next[1] = trace.words.1
      next[2] = trace.spanID
      next += 3
    }
    return head
  }

  /// Writes fields as log calls write metadata, and takes them apart again.
  private static func encode(
    _ fields: Logger.Metadata
  ) -> (pairs: UnsafeBufferPointer<UInt64>, values: [UInt64], hash: UInt64, isCut: Bool) {
    if fields.pairs.isEmpty { return (copy([]), [], 0, false) }
    let writer = mmlog_make_lone_writer()
    defer {
      WriterSpace.freeScratch(writer)
      mmlog_free_lone_writer(writer)
    }
    var cursor = RecordCursor(writer, reserving: RecordLayout.bodyWord * wordSize)
    cursor.append(fields)
    // All of them together are larger than a record gets, or there is no memory.
    if writer.pointee.lost != 0 { return (copy([]), [], 0, true) }
    let first = cursor.start + RecordLayout.bodyWord
    let words = UnsafeBufferPointer(start: first, count: cursor.next - first)
    var (values, names) = ([UInt64](), [UInt8]())
    forEachPair(of: words) { name, type, value in
      values += value
      withUnsafeBytes(of: name.count) { names += $0 }
      names += name
      names.append(type)
    }
    let isCut = RecordFlags(rawValue: cursor.flags).contains(.cut)
    return (copy(words), values, PrivateHash.of(names) | 1, isCut)
  }

  private static func copy(_ words: some Collection<UInt64>) -> UnsafeBufferPointer<UInt64> {
    let copy = UnsafeMutableBufferPointer<UInt64>.allocate(capacity: words.count)
    _ = copy.initialize(from: words)
    return UnsafeBufferPointer(copy)
  }

  /// Takes a block of pairs apart that this process has written.
  static func forEachPair(
    of block: UnsafeBufferPointer<UInt64>,
    _ body: (UnsafeRawBufferPointer, UInt8, Slice<UnsafeBufferPointer<UInt64>>) -> Void
  ) {
    var reader = WordReader(UnsafeRawBufferPointer(block))
    do throws(FormatError) {
      _ = try reader.word()
      while !reader.isAtEnd {
        let name = try reader.string()
        var value = reader
        let type = UInt8(truncatingIfNeeded: try value.word())
        try reader.skipElements(of: reader.taggedView())
        body(name, type, block[value.offset / wordSize..<reader.offset / wordSize])
      }
    } catch {
      assertionFailure("a block of this process cannot be read: \(error)")
    }
  }
}

// MARK: - The key set

extension EncodedContext {
  /// Copies its fields, and gives the place behind them.
  ///
  /// - Parameter more: Whether another block follows.
  func copyFields(
    to target: UnsafeMutablePointer<UInt64>, _ writer: UnsafeMutablePointer<mmlog_writer>,
    more: Bool
  ) -> UnsafeMutablePointer<UInt64> {
    let keySet = keySet(for: writer)
    let block = keySet > 0 ? UnsafeBufferPointer(rebasing: words[blockStart...]) : pairs
    guard let source = block.baseAddress else { return target }
    target.update(from: source, count: block.count)
    if keySet > 0 { target.pointee = keySet << BlockLayout.keySetShift }
    if more { target.pointee |= BlockLayout.moreBit }
    return target + block.count
  }

  /// The number of the key set in the session that a writer writes for, where it is entered into
  /// the dictionary if it is new; 0 if there is no room for it, or the lock is not to be had.
  @inline(__always)
  func keySet(for writer: UnsafeMutablePointer<mmlog_writer>) -> UInt64 {
    let known = knownNumber.load(ordering: .relaxed)
    return known & ~Self.numberMask == Self.key(of: writer)
      ? known & Self.numberMask : newKeySet(for: writer)
  }

  /// A gate, which is a multiple of 16, in the bits above those of a number.
  @inline(__always)
  private static func key(of writer: UnsafeMutablePointer<mmlog_writer>) -> UInt64 {
    UInt64(UInt(bitPattern: writer.pointee.gate)) << 16
  }

  @inline(never)
  private func newKeySet(for writer: UnsafeMutablePointer<mmlog_writer>) -> UInt64 {
    guard let session = Session.of(writer.pointee.thread) else { return 0 }
    let errorNumber = CurrentProcess.errorNumber
    defer { CurrentProcess.errorNumber = errorNumber }
    // Inside of another call, the thread may itself hold the lock.
    let number = session.number(
      ofKeysOf: pairs, hash, isNested: writer.pointee.outer != nil)
    guard let number, number <= Self.numberMask else { return 0 }
    knownNumber.store(Self.key(of: writer) | number, ordering: .relaxed)
    return number
  }
}
