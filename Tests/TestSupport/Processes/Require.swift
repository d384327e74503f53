import Foundation

/// Ends an exit test's process with a failure if `condition` does not hold.
package func require(
  _ condition: Bool, _ what: @autoclosure () -> String = "", line: UInt = #line
) {
  if condition { return }
  FileHandle.standardError.write(Data("line \(line) failed: \(what())\n".utf8))
  if let path = getenv("MMLOG_TEST_LOG"), let log = fopen(path, "a") {
    fputs("line \(line) failed: \(what())\n", log)
    fclose(log)
  }
  _exit(1)
}
