import Glibc
import MMLogSystem
import Testing
import TestSupport

@Suite("Host, process and errors")
struct HostTests {
  let folder = TemporaryDirectory()

  @Test("the host has a name, a boot and pages")
  func host() throws {
    #expect(try Host.name() == kernelText("/proc/sys/kernel/hostname").dropLast())
    #expect(Host.bootID().count == 16)
    #expect(Host.bootID() == Host.bootID())
    let written = try kernelText("/proc/sys/kernel/random/boot_id").filter(\.isHexDigit)
    let digits = Host.bootID().flatMap { [$0 >> 4, $0 & 15] }.map { String($0, radix: 16) }
    #expect(digits.joined() == written)
    #expect(Host.pageSize.nonzeroBitCount == 1)
    #expect(!Host.timeZoneName().isEmpty)
  }

  @Test("the process has its number, name and user")
  func process() {
    #expect(CurrentProcess.id == getpid())
    #expect(CurrentProcess.effectiveUserID == geteuid())
    #expect(!CurrentProcess.name.isEmpty && !CurrentProcess.name.contains("/"))
  }

  @Test(
    "the variable TZ says which time zone it is",
    arguments: [
      ("Europe/Berlin", "Europe/Berlin"), (":Asia/Tokyo", "Asia/Tokyo"), ("", "UTC"), (":", "UTC"),
      ("/usr/share/zoneinfo/America/Lima", "America/Lima"), ("CET-1CEST", "CET-1CEST"),
    ])
  func zoneFromVariable(variable: String, expected: String) {
    let name = Host.timeZoneName(variable: variable, link: "/nothing", file: "/nothing")
    #expect(name == expected)
  }

  @Test(
    "without TZ the link says it, then the file, then it is UTC",
    arguments: [
      ("/usr/share/zoneinfo/Europe/Paris", "Asia/Tokyo\n", "Europe/Paris"),
      ("../usr/share/zoneinfo/posix/Asia/Kolkata", "", "Asia/Kolkata"),
      ("/somewhere/else", "Asia/Tokyo\n", "Asia/Tokyo"), ("/somewhere/else", "", "UTC"),
    ])
  func zoneFromFiles(target: String, contents: String, expected: String) throws {
    try #require(symlink(target, folder("localtime")) == 0)
    let file = folder.put("timezone", contents)
    #expect(Host.timeZoneName(variable: nil, link: folder("localtime"), file: file) == expected)
  }

  @Test("an error says what failed, on what, and why")
  func description() {
    let error = SystemError(call: .open, errno: EACCES, path: "/var/log/x.ring")
    #expect("\(error)" == "open /var/log/x.ring: Permission denied (EACCES)")
    let other = SystemError(call: .getrandom, errno: ENOSYS)
    #expect("\(other)" == "getrandom: Function not implemented (ENOSYS)")
    #expect("\(SystemError(call: .poll, errno: 4000))" == "poll: Unknown error 4000 (errno 4000)")
  }

  @Test("errors that callers act on have names")
  func kinds() {
    func error(_ code: CInt) -> SystemError { SystemError(call: .open, errno: code) }
    #expect([ENOENT, ENODATA].allSatisfy { error($0).isNotFound })
    #expect([ENOSPC, EDQUOT].allSatisfy { error($0).isOutOfSpace })
    #expect([EOPNOTSUPP, ENOSYS].allSatisfy { error($0).isNotSupported })
    #expect(error(EEXIST).isAlreadyThere)
    #expect(!error(EIO).isNotFound && !error(EIO).isOutOfSpace && !error(EIO).isNotSupported)
  }
}
