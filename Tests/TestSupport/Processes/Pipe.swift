import CMMLogCore
package import Foundation

/// Makes a pipe: what is written to one end is read from the other.
///
/// A program that another test starts meanwhile inherits neither end. It would keep the pipe open,
/// and whoever waits for the end of it would wait for the end of that program.
package func makePipe(flags: CInt = 0) throws -> (reading: CInt, writing: CInt) {
  var ends: [CInt] = [-1, -1]
  guard mmlog_pipe(&ends) == 0 else { throw Failure("pipe2: errno \(errno)") }
  for end in ends { _ = fcntl(end, F_SETFL, flags) }
  return (ends[0], ends[1])
}

/// Makes such a pipe for Foundation, whose own are inherited by every program.
package func makeFilePipe() throws -> (reading: FileHandle, writing: FileHandle) {
  let ends = try makePipe()
  return (
    FileHandle(fileDescriptor: ends.reading, closeOnDealloc: true),
    FileHandle(fileDescriptor: ends.writing, closeOnDealloc: true)
  )
}

extension Process {
  /// Runs the program to its end, and returns what it prints.
  package func output() throws -> Data {
    let ends = try makeFilePipe()
    standardOutput = ends.writing
    try run()
    try ends.writing.close()
    let bytes = ends.reading.readDataToEndOfFile()
    waitUntilExit()
    return bytes
  }
}
