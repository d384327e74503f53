import CMMLogWriter
import MMLogFormat
import MMLogSystem

extension LogCall {
  typealias Context = UnsafeMutablePointer<EncodedContext>

  /// Puts a context together that goes with the record of a call, and has the call come to the
  /// outlined commit, which adds it.
  ///
  /// - Parameters:
  ///   - writer: The call's.
  ///   - label: The logger's. Of a logger with a context, the call itself does not know it.
  ///   - first: The logger's, or the only one.
  ///   - second: The task's, if there are two.
  @inline(__always)
  static func bind(
    _ writer: UnsafeMutablePointer<mmlog_writer>, _ label: UnsafeMutablePointer<mmlog_label>,
    _ first: Context, _ second: Context?
  ) {
    writer.pointee.context_label = label.pointee.identity
    // No call site is found in its cache, so that the commit comes to the outlined part.
    writer.pointee.sites = mmlog_no_sites()
    if second != nil || !copy(first, to: writer) { merge(first, second, into: writer) }
    if first.pointee.isCut || second?.pointee.isCut ?? false {
      writer.pointee.context_label |= UInt64(RecordFlags.cut.rawValue) << RecordLayout.flagsShift
    }
  }

  /// Copies a context that stands alone; false if its fields have no key set.
  @inline(__always)
  private static func copy(
    _ context: Context, to writer: UnsafeMutablePointer<mmlog_writer>
  ) -> Bool {
    let count = context.pointee.words.count
    let hasFields = context.pointee.hasFields
    let keySet = hasFields ? context.pointee.keySet(for: writer) : 0
    if hasFields, keySet == 0 { return false }
    guard count <= writer.pointee.context_capacity || WriterSpace.reserveContext(writer, count),
      let target = writer.pointee.context, let source = context.pointee.words.baseAddress
    else { return false }
    target.update(from: source, count: count)
    if hasFields { target[context.pointee.blockStart] = keySet << BlockLayout.keySetShift }
    writer.pointee.context_count = UInt32(truncatingIfNeeded: count)
    writer.pointee.context_fixed = UInt32(truncatingIfNeeded: context.pointee.fixedStart)
    writer.pointee.context_skip = context.pointee.skip
    writer.pointee.context_check = context.pointee.check
    return true
  }

  /// Puts the parts of two contexts together: of what both have, that of the first counts, but for
  /// fields. Or those of one whose fields have no key set.
  @inline(never)
  private static func merge(
    _ first: Context, _ second: Context?, into writer: UnsafeMutablePointer<mmlog_writer>
  ) {
    let most = first.pointee.largestCount + (second?.pointee.largestCount ?? 0)
    guard WriterSpace.reserveContext(writer, most), let start = writer.pointee.context else {
      return WriterSpace.lose(writer, .tooLarge)
    }
    var next = start + 1
    var head = EncodedContext.appendHead(
      first.pointee.span ?? second?.pointee.span, first.pointee.trace ?? second?.pointee.trace,
      to: &next)
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
    writer.pointee.context_count = UInt32(truncatingIfNeeded: next - start)
    writer.pointee.context_skip = 0
  }
}

extension WriterSpace {
  /// More words of context do not stay in memory behind their record.
  static var keptContext: UInt32 { 8192 }

  /// Whether something of the call's context is missing.
  @inline(__always)
  static func hasCutContext(_ writer: UnsafeMutablePointer<mmlog_writer>) -> Bool {
    let cut = UInt64(RecordFlags.cut.rawValue) << RecordLayout.flagsShift
    return writer.pointee.context_count > 0 && writer.pointee.context_label & cut != 0
  }

  /// Makes room for so many words of context; false if there is no memory.
  static func reserveContext(_ writer: UnsafeMutablePointer<mmlog_writer>, _ count: Int) -> Bool {
    if count <= writer.pointee.context_capacity { return true }
    guard count * wordSize <= RecordLayout.longestBody else { return false }
    var capacity = 512
    while capacity < count { capacity *= 2 }
    let errorNumber = CurrentProcess.errorNumber
    defer { CurrentProcess.errorNumber = errorNumber }
    guard let memory = PrivateMemory.allocate(capacity * wordSize) else { return false }
    freeContext(writer)
    writer.pointee.context = memory.assumingMemoryBound(to: UInt64.self)
    writer.pointee.context_capacity = UInt32(capacity)
    return true
  }

  static func freeContext(_ writer: UnsafeMutablePointer<mmlog_writer>) {
    guard let context = writer.pointee.context else { return }
    PrivateMemory.free(context, count: Int(writer.pointee.context_capacity) * wordSize)
    writer.pointee.context = nil
    writer.pointee.context_capacity = 0
  }
}
