/// What is in the state slots of a ring (FORMAT.md, 3): values by name, in the order in which the
/// slots were made.
package struct StateSlots: Sendable {
  package private(set) var values: [(name: String, value: Value)] = []
  /// Slots that cannot be read, in bytes from the area's start.
  package private(set) var corruption: [Range<Int>] = []

  /// No slots.
  package init() {}

  /// Reads an area of a ring. Slots of types that this version does not know are passed over.
  package init(_ area: UnsafeRawBufferPointer) {
    var index = 0
    while index < area.count / StateSlotLayout.size {
      let slot = area.slice(index * StateSlotLayout.size, StateSlotLayout.size)
      index += 1
      if slot.load(StateSlotLayout.type, as: UInt64.self) == 0 { continue }
      guard let name = Self.name(of: slot) else {
        note(index - 1, 1)
        continue
      }
      let type = ValueType(rawValue: slot.load(StateSlotLayout.type, as: UInt8.self))
      if type == .string {
        let count = min(StateSlotLayout.copies, area.count / StateSlotLayout.size - index)
        let copies = area.slice(index * StateSlotLayout.size, count * StateSlotLayout.size)
        if let text = Self.text(in: copies) {
          values.append((name, .string(text)))
        } else {
          note(index - 1, 1 + count)
        }
        index += count
      } else if let value = type?.value(of: slot.load(StateSlotLayout.value, as: UInt64.self)) {
        values.append((name, value))
      }
    }
  }

  private mutating func note(_ index: Int, _ count: Int) {
    let start = index * StateSlotLayout.size
    corruption.append(start..<start + count * StateSlotLayout.size)
  }

  private static func name(of slot: UnsafeRawBufferPointer) -> String? {
    typealias Layout = StateSlotLayout
    let size = Int(slot.load(Layout.nameSize, as: UInt8.self))
    guard size > 0, size <= Layout.longestName else { return nil }
    let name = slot.slice(Layout.name, size)
    let head = slot.load(Layout.type, as: UInt64.self)
    guard head == self.head(type: UInt8(truncatingIfNeeded: head), name: name) else { return nil }
    return String(decoding: name, as: UTF8.self)
  }

  /// The text of the newer copy that can be read; empty if no copy was ever stored, nil if copies
  /// were stored and none can be read.
  private static func text(in copies: UnsafeRawBufferPointer) -> [UInt8]? {
    typealias Layout = StateSlotLayout
    var newest: (ordinal: UInt64, text: [UInt8])?
    var isEmpty = true
    for start in stride(from: 0, to: copies.count, by: Layout.size) {
      let copy = copies.slice(start, Layout.size)
      let head = copy.load(0, as: UInt64.self)
      if head == 0 { continue }
      isEmpty = false
      let size = Int(head & Layout.lengthMask)
      guard size <= Layout.longestText,
        self.head(of: copy.slice(Layout.copyText, paddedSize(size)), head) == head
      else { continue }
      let ordinal = head >> Layout.ordinalShift & Layout.ordinalMask
      // Ordinals follow one another, and begin again after the greatest.
      if let newest, (newest.ordinal + 1) & Layout.ordinalMask != ordinal { continue }
      newest = (ordinal, Array(copy.slice(Layout.copyText, size)))
    }
    return isEmpty ? [] : newest?.text
  }

  /// The first word of a slot.
  package static func head(type: UInt8, name: UnsafeRawBufferPointer) -> UInt64 {
    let lead = UInt32(type) | UInt32(truncatingIfNeeded: name.count) << 8
    let state = withUnsafeBytes(of: lead.littleEndian) { crc32cState(.max, $0) }
    return UInt64(lead) | UInt64(~crc32cState(state, name)) << 32
  }

  /// The first word of a copy, made from the text with its padding, and from the word's lower half.
  package static func head(of text: UnsafeRawBufferPointer, _ head: UInt64) -> UInt64 {
    let lead = UInt32(truncatingIfNeeded: head)
    let state = crc32cState(.max, text)
    let checksum = withUnsafeBytes(of: lead.littleEndian) { ~crc32cState(state, $0) }
    return UInt64(lead) | UInt64(checksum) << StateSlotLayout.checksumShift
  }

  /// The values as a dictionary entry has them.
  package var fields: SessionFields {
    var writer = WordWriter()
    writer.append(UInt64(values.count))
    for (name, value) in values {
      writer.append(name)
      writer.append(tagged: value)
    }
    return writer.words.withUnsafeBufferPointer { SessionFields(block: $0) }
  }
}

extension ValueType {
  /// The value that a slot's word stands for; nil for types that no slot has.
  fileprivate func value(of word: UInt64) -> Value? {
    switch self {
    case .int: .int(Int64(bitPattern: word))
    case .uint: .uint(word)
    case .double: .double(Double(bitPattern: word))
    case .float: .float(Float(bitPattern: UInt32(truncatingIfNeeded: word)))
    case .bool: .bool(word != 0)
    default: nil
    }
  }
}
