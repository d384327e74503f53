import MMLogSystem

/// Whether the file system of temporary folders has files without a name: O_TMPFILE.
package let hasUnnamedFiles: Bool = {
  let folder = TemporaryDirectory()
  do {
    _ = try Directory.open(folder.path).makeUnnamedFile(for: "a")
    return true
  } catch {
    return false
  }
}()
