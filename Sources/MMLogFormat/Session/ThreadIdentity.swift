/// A thread of the process that logged.
package struct ThreadIdentity: Hashable, Sendable {
  /// Counts threads in the order in which they first logged, from 1; 0 where several share a
  /// segment.
  package var ordinal: UInt32
  /// The thread's id in the operating system, which may give the id to a later thread, too.
  package var id: UInt32
  /// At most 16 bytes.
  package var name: String

  package init(ordinal: UInt32, id: UInt32, name: String) {
    self.ordinal = ordinal
    self.id = id
    self.name = name
  }

  /// Reads an entry of a frame's thread table, of ``FrameLayout/threadSize`` bytes.
  init(_ bytes: UnsafeRawBufferPointer) {
    ordinal = bytes.load(FrameLayout.threadOrdinal, as: UInt32.self)
    id = bytes.load(FrameLayout.threadID, as: UInt32.self)
    name = bytes.text(FrameLayout.threadName, SegmentLayout.threadNameSize)
  }

  /// Writes an entry of a frame's thread table.
  func encode(into output: UnsafeMutableRawBufferPointer, at offset: Int) {
    output.store(ordinal, offset + FrameLayout.threadOrdinal)
    output.store(id, offset + FrameLayout.threadID)
    output.store(text: name, offset + FrameLayout.threadName, SegmentLayout.threadNameSize)
  }
}
