import CMMLogCore
import CMMLogWriter
import MMLogFormat
import MMLogSystem
import Synchronization

/// A context as it stands in records. Only its atomic parts change.
struct EncodedContext: ~Copyable {
  /// A span's number; 0: no span, even if another context has one.
  let span: UInt64?
  let trace: TraceContext?
  /// The whole context. Its fields are a block of values with a key set, whose number is valid in
  /// one session.
  let whole: UnsafeMutablePointer<mmlog_context>
  /// Whether `whole` is made ready for a session, or is about to be.
  private let isTaken = Atomic<Bool>(false)
  /// Where the block begins among the words; the number of words if there are no fields.
  private let blockStart: Int
  /// Whether something of the fields is missing: they are longer than a record may be, or there was
  /// no memory.
  let isCut: Bool
  /// The fields as a block of pairs; empty if there are none.
  let pairs: UnsafeBufferPointer<UInt64>
  /// The hash of names and types.
  private let hash: UInt64
  /// The key set's number in the session that was asked last, in the lowest bits. Above them, the
  /// gate of that session. A thread that loads the number has to see the key set's entry, too.
  private let knownNumber = Atomic<UInt64>(0)
  private static var numberMask: UInt64 { (1 << 20) - 1 }

  init(_ fields: Logger.Metadata, span: UInt64?, trace: TraceContext?) {
    (self.span, self.trace) = (span, trace)
    let encoded = Self.encode(fields)
    (pairs, hash, isCut) = (encoded.pairs, encoded.hash, encoded.isCut)
    let block = pairs.isEmpty ? [] : [0] + encoded.values
    let capacity = Self.longestHead + block.count + Int(MMLOG_CONTEXT_PADDING)
    let memory = UnsafeMutableRawPointer.allocate(
      byteCount: WriterSpace.size(ofContext: capacity), alignment: wordSize)
    whole = memory.bindMemory(to: mmlog_context.self, capacity: 1)
    let start = mmlog_context_words(whole)
    start.initialize(repeating: 0, count: capacity)
    var next = start + 1
    var head = Self.appendHead(span, trace, to: &next)
    blockStart = next - start
    if !block.isEmpty { head |= ContextLayout.fieldsBit }
    for word in block {
      next.pointee = word
      next += 1
    }
    start.pointee = head | UInt64(next - start - 1)
    whole.initialize(
      to: mmlog_context(
        gate: nil, check: UInt64(mmlog_crc32c_words(0, start, next - start)),
        skip: mmlog_crc32c_skip_constant(next - start),
        count: UInt32(truncatingIfNeeded: next - start)))
  }

  deinit {
    UnsafeMutableRawPointer(whole).deallocate()
    pairs.deallocate()
  }

  /// The first word, and those of a span and a trace, in words.
  static var longestHead: Int { 5 }

  private var words: UnsafeBufferPointer<UInt64> {
    UnsafeBufferPointer(start: mmlog_context_words(whole), count: Int(whole.pointee.count))
  }

  var hasFields: Bool { blockStart < words.count }
  var place: LogContext.Place { LogContext.Place(span: span, trace: trace) }

  /// The most words that the context takes.
  var largestCount: Int { max(words.count, blockStart + pairs.count) }

  /// Writes what stands between the first word and the fields.
  ///
  /// - Parameter next: Where to write; afterwards, the place behind what was written.
  /// - Returns: The first word's bits for what was written.
  static func appendHead(
    _ span: UInt64?, _ trace: TraceContext?, to next: inout UnsafeMutablePointer<UInt64>
  ) -> UInt64 {
    var head: UInt64 = 0
    if let span, span != 0 {
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

  /// Writes fields as log calls write metadata, and takes the written words apart again.
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
    // All fields together are larger than a record may be, or there is no memory.
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
    return (copy(words), values, PrivateHash.of(names) | 1, writer.has(.cut))
  }

  private static func copy(_ words: some Collection<UInt64>) -> UnsafeBufferPointer<UInt64> {
    let copy = UnsafeMutableBufferPointer<UInt64>.allocate(capacity: words.count)
    _ = copy.initialize(from: words)
    return UnsafeBufferPointer(copy)
  }

  /// Takes apart a block of pairs that this process has written.
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
  /// The whole context, as records of a writer have it, if it is ready for the writer's session.
  @inline(__always)
  func ready(
    for writer: UnsafeMutablePointer<mmlog_writer>
  ) -> UnsafePointer<mmlog_context>? {
    mmlog_context_is_ready(whole, writer) ? UnsafePointer(whole) : nil
  }

  /// Makes the context ready for the session of a writer. A context without fields is ready for all
  /// sessions. A context with fields is ready for the first session that asks, and never for
  /// another, because other threads may be copying its words.
  ///
  /// - Returns: Whether the context is ready. If not, it has to be put together for each record.
  func makeReady(for writer: UnsafeMutablePointer<mmlog_writer>) -> Bool {
    let keySet = hasFields ? keySet(for: writer) : 0
    if isCut || hasFields && keySet == 0 { return false }
    let isFirst = isTaken.compareExchange(expected: false, desired: true, ordering: .relaxed)
    guard isFirst.exchanged, let gate = writer.pointee.gate else { return !hasFields }
    if hasFields {
      mmlog_context_words(whole)[blockStart] = keySet << BlockLayout.keySetShift
      whole.pointee.check = UInt64(mmlog_crc32c_words(0, words.baseAddress, words.count))
    }
    mmlog_set_context_gate(whole, gate)
    return true
  }

  /// Copies the fields, and returns the place behind them.
  ///
  /// - Parameter more: Whether another block follows.
  func copyFields(
    to target: UnsafeMutablePointer<UInt64>, _ writer: UnsafeMutablePointer<mmlog_writer>,
    more: Bool
  ) -> UnsafeMutablePointer<UInt64> {
    let keySet = keySet(for: writer)
    let block = keySet > 0 ? UnsafeBufferPointer(rebasing: words[blockStart...]) : pairs
    guard let source = block.baseAddress else { return target }
    // Not the first word: another thread may be storing another session's number there.
    (target + 1).update(from: source + 1, count: block.count - 1)
    target.pointee = keySet > 0 ? keySet << BlockLayout.keySetShift : source.pointee
    if more { target.pointee |= BlockLayout.moreBit }
    return target + block.count
  }

  /// The number of the key set in the session that a writer writes for. Enters the key set into the
  /// session's dictionary if it is new. 0 if there is no room for it, or the lock cannot be had.
  @inline(__always)
  func keySet(for writer: UnsafeMutablePointer<mmlog_writer>) -> UInt64 {
    let known = knownNumber.load(ordering: .acquiring)
    return known & ~Self.numberMask == Self.key(of: writer)
      ? known & Self.numberMask : newKeySet(for: writer)
  }

  /// The writer's gate, which is a multiple of 16, in the bits above those of a number.
  @inline(__always)
  private static func key(of writer: UnsafeMutablePointer<mmlog_writer>) -> UInt64 {
    UInt64(UInt(bitPattern: writer.pointee.gate)) << 16
  }

  @inline(never)
  private func newKeySet(for writer: UnsafeMutablePointer<mmlog_writer>) -> UInt64 {
    guard let session = Session.of(writer.pointee.thread) else { return 0 }
    let errorNumber = CurrentProcess.errorNumber
    defer { CurrentProcess.errorNumber = errorNumber }
    // If this call is inside another one, the thread may hold the lock itself.
    let number = session.number(
      ofKeysOf: pairs, hash, isNested: writer.pointee.outer != nil)
    guard let number, number <= Self.numberMask else { return 0 }
    knownNumber.store(Self.key(of: writer) | number, ordering: .releasing)
    return number
  }
}
