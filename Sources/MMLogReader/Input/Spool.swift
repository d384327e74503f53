import MMLogSystem

/// Copies what a pipe or a device gives into a file without a name, so that it can be read at any
/// place and takes disk instead of memory.
func spool(_ stream: consuming File) throws(SystemError) -> File {
  try stream.makeBlocking()
  let file = try File.temporary(label: stream.path)
  let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 8)
  defer { buffer.deallocate() }
  var size = 0
  while true {
    let count = try stream.read(into: buffer)
    if count == 0 { return file }
    try file.writeFully(UnsafeRawBufferPointer(rebasing: buffer[..<count]), at: size)
    size += count
  }
}
