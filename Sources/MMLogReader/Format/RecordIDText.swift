package import MMLogFormat

/// Appends the names of records. The part that a frame's records share is made once, and then
/// copied.
package struct RecordIDText {
  private var last: (session: SessionID, frame: FrameName)?
  private var text: [UInt8] = []

  /// Knows no frame yet.
  package init() {}

  /// Appends ``LogReader/RecordID``'s text; nothing for a record in a ring.
  package mutating func append(idOf record: LogReader.Record, to output: inout TextBuffer) {
    guard let frame = record.owner.frame else { return }
    let session = record.session.id
    if last?.frame != frame || last?.session != session {
      last = (session, frame)
      text = Array(frame.text(of: session).utf8)
    }
    output.append(text)
    output.append(decimal: UInt64(record.content.row))
  }
}
