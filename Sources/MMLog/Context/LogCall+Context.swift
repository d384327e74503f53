import CMMLogWriter
import MMLogFormat
import MMLogSystem

extension LogCall {
  typealias Context = UnsafeMutablePointer<EncodedContext>

  /// Makes the record of a call have a context, and sends the call to the outlined commit, which
  /// adds the context.
  ///
  /// - Parameters:
  ///   - writer: The call's writer.
  ///   - label: The logger's label. If the logger has a context, the call itself does not know the
  ///     label.
  ///   - first: The logger's context, or the only one. It has to live until the call ends.
  ///   - second: The task's context, if there are two.
  ///   - place: Where the task is, if its context does not say so; see ``LogContext/ofTask``.
  /// - Returns: Always true, which callers return.
  @inline(__always)
  static func bind(
    _ writer: UnsafeMutablePointer<mmlog_writer>, _ label: UnsafeMutablePointer<mmlog_label>,
    _ first: Context, _ second: Context?, at place: LogContext.Place? = nil
  ) -> Bool {
    writer.pointee.context_label = label.pointee.identity
    // In this empty cache the commit finds no call site, and so comes to the outlined part.
    writer.pointee.sites = mmlog_no_sites()
    guard second == nil, place == nil, let ready = first.pointee.ready(for: writer) else {
      return bindOther(writer, first, second, place)
    }
    writer.pointee.context = ready
    return true
  }

  /// As `bind`, where the context is not ready for the writer's session.
  @inline(never)
  private static func bindOther(
    _ writer: UnsafeMutablePointer<mmlog_writer>, _ first: Context, _ second: Context?,
    _ place: LogContext.Place?
  ) -> Bool {
    if second == nil, place == nil, first.pointee.makeReady(for: writer) {
      writer.pointee.context = UnsafePointer(first.pointee.whole)
    } else {
      merge(first, second, place, into: writer)
    }
    return true
  }

  /// Makes the record of a call belong to this span instead of the task's, if this span began in
  /// the call's session.
  @inline(never)
  static func bind(
    _ writer: UnsafeMutablePointer<mmlog_writer>, _ label: UnsafeMutablePointer<mmlog_label>,
    to span: Logger.Span
  ) {
    let number = span.number(in: writer.pointee.gate)
    if number == 0 { return }
    // The context of the task, in the writer's memory or in memory that all share.
    let old = writer.pointee.context
    var count = old.map { Int($0.pointee.count) } ?? 1
    // So that the commit comes to the outlined part, which also counts a lost record.
    writer.pointee.sites = mmlog_no_sites()
    // `merge` has reserved room for one more word, so that the words that are there stay in place.
    guard let merged = WriterSpace.reserveContext(writer, count + 1) else {
      return WriterSpace.lose(writer, .tooLarge)
    }
    let words = mmlog_context_words(merged)
    if old == nil {
      words[0] = 0
      writer.pointee.context_label = label.pointee.identity
    } else if let old, old != UnsafePointer(merged) {
      words.update(from: mmlog_context_words(old), count: count)
    }
    if words[0] & ContextLayout.spanBit == 0 {
      (words + 2).update(from: words + 1, count: count - 1)
      // One word more behind the first.
      words[0] = (words[0] | ContextLayout.spanBit) + 1
      count += 1
    }
    words[1] = number
    merged.pointee.skip = 0
    merged.pointee.count = UInt32(truncatingIfNeeded: count)
    writer.pointee.context = UnsafePointer(merged)
  }

  /// Puts the parts of two contexts together, or those of one context whose fields have no key set.
  /// Of spans and traces, the first context's count; fields of both stay. A given place counts
  /// instead of that of the task's context.
  @inline(never)
  private static func merge(
    _ first: Context, _ second: Context?, _ place: LogContext.Place?,
    into writer: UnsafeMutablePointer<mmlog_writer>
  ) {
    if first.pointee.isCut || second?.pointee.isCut ?? false {
      writer.pointee.context_label |= UInt64(RecordFlags.cut.rawValue) << RecordLayout.flagsShift
    }
    // The head has room for the place, and for the span that a call in C may name.
    let most =
      first.pointee.largestCount + (second?.pointee.largestCount ?? 0) + EncodedContext.longestHead
    guard let merged = WriterSpace.reserveContext(writer, most) else {
      return WriterSpace.lose(writer, .tooLarge)
    }
    let start = mmlog_context_words(merged)
    var next = start + 1
    let bound = second == nil ? nil : first
    let place = place ?? (second ?? first).pointee.place
    var head = EncodedContext.appendHead(
      bound?.pointee.span ?? place.span, bound?.pointee.trace ?? place.trace, to: &next)
    let secondHasFields = second?.pointee.hasFields ?? false
    if first.pointee.hasFields {
      head |= ContextLayout.fieldsBit
      next = first.pointee.copyFields(to: next, writer, more: secondHasFields)
    }
    if secondHasFields, let second {
      head |= ContextLayout.fieldsBit
      next = second.pointee.copyFields(to: next, writer, more: false)
    }
    start.pointee = head | UInt64(next - start - 1)
    merged.pointee.skip = 0
    merged.pointee.count = UInt32(truncatingIfNeeded: next - start)
    writer.pointee.context = UnsafePointer(merged)
  }
}

extension WriterSpace {
  /// Memory for more words of context than this is freed after the record.
  static var keptContext: UInt64 { 8192 }

  /// Whether something of the call's context is missing.
  @inline(__always)
  static func hasCutContext(_ writer: UnsafeMutablePointer<mmlog_writer>) -> Bool {
    let cut = UInt64(RecordFlags.cut.rawValue) << RecordLayout.flagsShift
    return writer.pointee.context != nil && writer.pointee.context_label & cut != 0
  }

  /// The size of a context of `words` words, in bytes.
  static func size(ofContext words: Int) -> Int {
    MemoryLayout<mmlog_context>.stride + words * wordSize
  }

  /// Makes room for a context of `count` words; nil if there is no memory.
  static func reserveContext(
    _ writer: UnsafeMutablePointer<mmlog_writer>, _ count: Int
  ) -> UnsafeMutablePointer<mmlog_context>? {
    if count <= writer.pointee.merged_capacity, let merged = writer.pointee.merged { return merged }
    guard count * wordSize <= RecordLayout.longestBody else { return nil }
    var capacity = 512
    while capacity < count { capacity *= 2 }
    let errorNumber = CurrentProcess.errorNumber
    defer { CurrentProcess.errorNumber = errorNumber }
    guard let memory = PrivateMemory.allocate(size(ofContext: capacity)) else { return nil }
    freeContext(writer)
    let merged = memory.assumingMemoryBound(to: mmlog_context.self)
    writer.pointee.merged = merged
    writer.pointee.merged_capacity = UInt64(capacity)
    return merged
  }

  static func freeContext(_ writer: UnsafeMutablePointer<mmlog_writer>) {
    guard let merged = writer.pointee.merged else { return }
    PrivateMemory.free(
      merged, count: size(ofContext: Int(writer.pointee.merged_capacity)))
    writer.pointee.merged = nil
    writer.pointee.merged_capacity = 0
  }
}
