import MMLogSystem

extension Directory {
  /// Who else could replace the directory's files, and what to do about it, as the rest of a
  /// sentence that begins with the directory; nil if nobody could.
  func whyNotToTrust() throws(SystemError) -> String? {
    guard let status = try status(of: ".") else { return nil }
    let root: UInt32 = 0
    if status.owner != CurrentProcess.effectiveUserID && status.owner != root {
      return
        "belongs to user \(status.owner), who could replace the logs in it. Choose another, or "
        + "make it the process's own (chown \(CurrentProcess.effectiveUserID))"
    }
    let (writableByOthers, sticky): (UInt32, UInt32) = (0o002, 0o1000)
    if status.permissions & writableByOthers != 0 && status.permissions & sticky == 0 {
      return
        "can be written to by every user, who could replace the logs in it. Choose another, take "
        + "that right away (chmod o-w), or make it sticky (chmod +t)"
    }
    return nil
  }
}
