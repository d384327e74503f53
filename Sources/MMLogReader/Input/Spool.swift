import MMLogFormat
import MMLogStorage
import MMLogSystem

/// Copies the content of a pipe into a file without a name, so that it can be read at any place,
/// and takes disk space instead of memory.
///
/// If the content does not begin as a log does, the rest is not copied. A log takes at most half of
/// the free space where temporary files are.
func spool(_ stream: consuming File) throws -> File {
  try stream.makeBlocking()
  let directory = try File.temporaryDirectory()
  let limit = try directory.freeSpace().available / 2
  let file = try File.temporary(label: stream.path)
  let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 8)
  defer { buffer.deallocate() }
  var size = 0
  while true {
    let count = try stream.read(into: buffer)
    if count == 0 { return file }
    guard size + count <= limit else {
      throw LogError(
        .system,
        """
        \(stream.path) has more than \(limit) bytes, which is half of the space that is free in \
        \(directory.path); write it to a file and read that, or set TMPDIR to where there is more
        """, path: stream.path)
    }
    try file.writeFully(UnsafeRawBufferPointer(rebasing: buffer[..<count]), at: size)
    let isUnknown = size < FileKind.size && size + count >= FileKind.size
    size += count
    if isUnknown, try FileKind(of: file) == nil { return file }
  }
}
