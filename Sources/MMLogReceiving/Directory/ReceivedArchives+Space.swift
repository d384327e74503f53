import MMLogStorage
import MMLogSystem

/// How much space uploads may take.
extension ReceivedArchives {
  /// Promises space to an upload.
  ///
  /// - Parameter size: How large the upload will be at least.
  func claim(_ size: Int, for upload: String, of client: String) throws(Refusal) {
    do {
      try countStored(for: size, upload, client)
      try withUsage { usage in try claim(size, upload, client, &usage) }
    } catch {
      throw Refusal(error)
    }
  }

  private func claim(
    _ size: Int, _ upload: String, _ client: String, _ usage: inout Usage
  ) throws {
    if let refusal = limit(size, upload, client, usage) { throw refusal }
    let space = try root.freeSpace()
    let keep = limits.freeSpace.bytes(ofTotal: space.total)
    let written = usage.unfinished[upload]?.written ?? 0
    if size - written > space.available - keep - usage.outstanding(without: upload) {
      throw Refusal(
        .insufficientStorage,
        "The receiver's disk has no room for the archive. Send it again later.", retryAfter: 60)
    }
    usage.unfinished[upload]?.claimed = size
  }

  /// Counts what is stored, if that is not known, or if `size` more bytes seem to exceed a limit.
  private func countStored(for size: Int, _ upload: String, _ client: String) throws {
    if limits.client == nil, limits.total == nil { return }
    let isNeeded = {
      self.withUsage { usage in
        usage.isUnknown || usage.isOld && self.limit(size, upload, client, usage) != nil
      }
    }
    if !isNeeded() { return }
    try counting.withLock {
      if !isNeeded() { return }
      withUsage { $0.beginScan() }
      let found = try scan()
      withUsage { $0.set(found) }
    }
  }

  /// Returns the refusal for a limit that `size` more bytes would exceed; nil if there is none.
  private func limit(
    _ size: Int, _ upload: String, _ client: String, _ usage: Usage
  ) -> Refusal? {
    let whole = [(limits.client, client as String?), (limits.total, nil)]
    for case (let limit?, let client) in whole
    where usage.taken(client: client, without: upload) + size > limit {
      let owner = client == nil ? "all clients" : "the client"
      return Refusal(
        .insufficientStorage,
        "With the archive, \(owner) would have more than \(limit) bytes here, which is the limit. "
          + "Archives have to be deleted before (mmlogctl prune).", retryAfter: 60)
    }
    return nil
  }

  /// Counts the bytes that are stored, by client.
  private func scan() throws -> [String: Int] {
    var sizes: [String: Int] = [:]
    for service in try folders(of: root) {
      for host in try folders(of: root.openDirectory(service)) {
        for archive in try Catalog(of: "\(path)/\(service)/\(host)", store: nil).scan() {
          sizes[archive.state.attributes[Self.clientAttribute] ?? "", default: 0] += archive.size
        }
      }
    }
    return sizes
  }

  private func folders(of directory: borrowing Directory) throws(SystemError) -> [String] {
    var found: [String] = []
    for name in try directory.names() where !name.hasPrefix(".") {
      if try directory.status(of: name)?.isDirectory == true { found.append(name) }
    }
    return found
  }
}
