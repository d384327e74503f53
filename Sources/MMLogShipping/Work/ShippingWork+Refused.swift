import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem

extension ShippingWork {
  /// Throws if no more records can be put aside, since the receiver may refuse what is sent next.
  func checkRoomAside() throws(LogError) {
    let name = RefusedRecords.fileName(of: consumer)
    let size = try explaining("Searching for what was refused failed") { () throws(SystemError) in
      try Directory.open(path).status(of: name)?.size ?? 0
    }
    if size <= RefusedRecords.largestFile { return }
    let file = "\(path)/\(name)"
    throw LogError(
      .unsupported,
      "\(file) has more than \(RefusedRecords.largestFile >> 20) MiB, so nothing more is sent: "
        + "change what the receiver refuses, and send that again (mmlog-ship retry), or remove "
        + "the file",
      path: file)
  }

  /// Puts aside what the receiver has refused of a batch.
  ///
  /// - Returns: How many records were put aside.
  func putAside(
    _ answer: LogBatch.Answer, of batch: FormedBatch, id: String
  ) throws(LogError) -> Int {
    if answer.refused.isEmpty, answer.refusedUnnamed == 0 { return 0 }
    var entries: [RefusedRecords.Entry] = []
    let reasons = Dictionary(answer.refused.map { ($0.index, $0.reason) }) { first, _ in first }
    var (index, formatter) = (0, JSONFormatter(zone: .utc))
    var (lastID, copies) = ("", 1)
    for records in batch.records {
      records.forEach { record in
        let name = "\(record.id.map { "\($0)" } ?? "")"
        (lastID, copies) = (name, name == lastID ? copies + 1 : 1)
        if let reason = reasons[index] {
          var text = TextBuffer()
          formatter.append(record, to: &text)
          let json = text.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
          entries.append(
            RefusedRecords.Entry(
              time: .now, batch: id, record: copies > 1 ? "\(name)#\(copies)" : name,
              reason: reason,
              content: json.hasSuffix("\n") ? String(json.dropLast()) : json))
        }
        index += 1
      }
    }
    if answer.refusedUnnamed > 0 { entries.append(entry(ofUnnamedIn: answer, batch, id)) }
    try RefusedRecords.append(entries, of: consumer, in: openDirectory())
    TestPoint.reach(.recordPutAside)
    if let first = answer.refused.first {
      control.send(.refused(batch: id, count: answer.refused.count, reason: first.reason))
    }
    if answer.refusedUnnamed > 0 {
      control.send(
        .refused(
          batch: id, count: answer.refusedUnnamed,
          reason: (answer.reason.isEmpty ? "no reason is given" : answer.reason)
            + RefusedRecords.unnamedSuffix))
    }
    return answer.refused.count + answer.refusedUnnamed
  }

  /// Returns the entry for the records of a batch that the receiver has refused without naming
  /// them.
  func entry(
    ofUnnamedIn answer: LogBatch.Answer, _ batch: FormedBatch, _ id: String
  ) -> RefusedRecords.Entry {
    RefusedRecords.Entry(
      time: .now, batch: id, record: "\(batch.session.id).*", reason: answer.reason,
      content: "\(answer.refusedUnnamed)")
  }
}
