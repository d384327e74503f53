import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem

/// Lists what a shell offers for a value: `labels`, `sessions` or `stores` of the logs that the
/// words of the command line name, or else of those in `MMLOG_DIR`. A shell has not expanded the
/// words yet.
///
/// It has to be quick, and to be silent: somebody is typing. So names of files say what sessions
/// and stores there are, and rings and the newest archives what labels.
@Sendable
package func loggedNames(_ kind: String, _ words: [String]) -> [String] {
  let named = words.compactMap(folder)
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

/// The directory that a word names, itself or by a file of a store in it; nil if it names none.
private func folder(_ word: String) -> String? {
  let home = word.hasPrefix("~/") ? CurrentProcess.variable("HOME") : nil
  let path = home.map { $0 + word.dropFirst() } ?? word
  guard !word.hasPrefix("-"), let status = try? File.status(ofPath: path) else { return nil }
  let (directory, name) = path.splitAtLastSlash
  return status.isDirectory ? path : FileNames.isOurs(name) ? directory : nil
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
