import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem

/// Lists what a shell offers for a value: `labels`, `sessions` or `stores` of the logs that the
/// words of the command line name, or else of those in `MMLOG_DIR`.
///
/// It has to be quick, and to be silent: somebody is typing. So names of files say what sessions
/// and stores there are, and rings and the newest archives what labels.
@Sendable
package func loggedNames(_ kind: String, _ words: [String]) -> [String] {
  let named = words.filter { word in
    !word.hasPrefix("-") && (try? File.status(ofPath: word))?.isDirectory == true
  }
  let folders =
    named.isEmpty
    ? [CurrentProcess.variable("MMLOG_DIR") ?? ""].filter { !$0.isEmpty } : named
  let logs = folders.flatMap(namedLogs)
  switch kind {
  case "stores": return Set(logs.map(\.store)).sorted()
  case "sessions": return Set(logs.map { "\($0.session)" }).sorted()
  case "labels": return labels(in: logs)
  default: return []
  }
}

/// A log, as its file's name says.
private struct NamedLog {
  let path: String
  let store: String
  let session: SessionID
  /// When an archive was begun; of a ring, what is later than all.
  let start: String
}

/// The logs in a directory.
private func namedLogs(_ folder: String) -> [NamedLog] {
  let names = (try? Directory.open(folder).names()) ?? []
  return names.compactMap { name in
    let path = "\(folder)/\(name)"
    if let ring = FileNames.Ring(fileName: name) {
      return NamedLog(path: path, store: ring.store, session: ring.session, start: "~")
    }
    return FileNames.Archive(fileName: name).map { archive in
      NamedLog(path: path, store: archive.store, session: archive.session, start: archive.start)
    }
  }
}

private func labels(in logs: [NamedLog]) -> [String] {
  var labels: Set<String> = []
  for (_, own) in Dictionary(grouping: logs, by: \.store) {
    let newest = own.sorted { $0.start > $1.start }.prefix(8)
    for session in LogFiles(newest.map { .path($0.path) }).sessions {
      var summary = SessionSummary()
      summary.read(session)
      labels.formUnion(summary.dictionary.labels.values)
    }
  }
  return labels.sorted()
}
