import Glibc

/// Whether this process, and those that it starts, may mount file systems.
package let mountsCanBeMade: Bool = {
  let folder = TemporaryDirectory()
  guard mount("none", folder.path, "ramfs", 0, nil) == 0 else { return false }
  umount2(folder.path, CInt(MNT_DETACH))
  return true
}()
