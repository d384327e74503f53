import MMLogFormat
import MMLogReader
import MMLogStorage
import MMLogSystem

/// Lists what a shell offers for a value: the `labels`, `sessions` or `stores` of logs. The words
/// of the command line name the logs; otherwise `MMLOG_DIR` does. The shell has not expanded the
/// words.
///
/// This function has to be quick and silent, because a user is typing. It takes sessions and stores
/// from file names, and labels from rings and the newest archives.
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

/// The directory that a word names, or in which the word names a store's file; nil if there is
/// none.
private func folder(_ word: String) -> String? {
  let home = word.hasPrefix("~/") ? CurrentProcess.variable("HOME") : nil
  let path = home.map { $0 + word.dropFirst() } ?? word
  guard !word.hasPrefix("-"), let status = try? File.status(ofPath: path) else { return nil }
  let (directory, name) = path.splitAtLastSlash
  return status.isDirectory ? path : FileNames.isOurs(name) ? directory : nil
}

/// A log, as its file name describes it.
private struct NamedLog {
  let path: String
  let store: String
  let session: SessionID
  /// The time at which an archive was begun. For a ring, a text that sorts after all times.
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
      labels.formUnion(SessionSummary(session).dictionary.labels.values)
    }
  }
  return labels.sorted()
}
