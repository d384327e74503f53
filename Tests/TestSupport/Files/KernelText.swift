import MMLogSystem

/// Everything in a file whose length the kernel does not report, such as one below /proc.
package func kernelText(_ path: String) throws -> String {
  let file = try File.open(path, .read)
  let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65536, alignment: 1)
  defer { buffer.deallocate() }
  var bytes: [UInt8] = []
  while case let count = try file.read(into: buffer), count > 0 { bytes += buffer[..<count] }
  return String(decoding: bytes, as: UTF8.self)
}
