import Foundation
import MMLog
import MMLogStorage
import MMLogSystem
import TestSupport
import Testing

/// `mmlogctl collect`.
@Suite struct CollectTests {
  private let folder = TemporaryDirectory()
  private let out = TemporaryDirectory()

  /// The names in the tar file, without its folder, as tar(1) lists them.
  private func names(_ file: String) throws -> [String] {
    let list = try shell("tar -tf \(file)", folder: TemporaryDirectory())
    #expect(list.status == 0 && list.errors == "", "\(list)")
    return list.output.split(separator: "\n").map {
      $0.split(separator: "/").dropFirst().joined(separator: "/")
    }
  }

  private func text(_ file: String, _ name: String) throws -> String {
    let run = try shell("tar -xOf \(file) --wildcards '*/\(name)'", folder: TemporaryDirectory())
    #expect(run.status == 0, "\(run)")
    return run.output
  }

  @Test("files that cannot be read are in the file, too, and alone")
  func unreadable() throws {
    let bytes = [UInt8]("MMLOGARC".utf8) + [UInt8](repeating: 7, count: 600)
    folder.put("copy.mmlog", bytes)
    let run = try control(["collect", "-o", out("all.tar"), folder.path])
    #expect(try names(out("all.tar")).contains("archives/copy.mmlog"), "\(run)")
    #expect(try text(out("all.tar"), "copy.mmlog") == String(decoding: bytes, as: UTF8.self))
    // What has no room leaves no other archive out.
    folder.put("large.mmlog", [UInt8](repeating: 7, count: 3 << 20))
    let log = TestLog.closed("one")
    let archive = log.save()[0].splitAtLastSlash.name
    folder.put(archive, try log.folder.bytes(archive))
    let part = try control(["collect", "-o", out("part.tar"), "--limit", "1M", folder.path])
    let found = try names(out("part.tar"))
    #expect(found.contains("archives/\(archive)"), "\(part)")
    #expect(!found.contains("archives/large.mmlog"), "\(part)")
  }

  @Test("one file has archives, rings, crash reports, status and the machine")
  func everything() throws {
    let dead = try LoggingChild(in: folder.path)
    try dead.log("what killed it")
    dead.die()
    // This name is so long that its tar entry needs an extended header.
    let name = String(repeating: "long-name-", count: 8)
    let store = try LogStore(directory: folder.path, name: name)
    store.logger(label: "l").info("one")
    let archive = try #require(try store.rotate())
    store.logger(label: "l").info("in the ring")
    let file = out("all.tar")
    let run = try control(["collect", "-o", file, folder.path])
    // One line names the process that runs, because the copy of its ring does not show that.
    let lines = run.errors.split(separator: "\n")
    #expect(run.status == 0 && lines.count == 1, "\(run)")
    let living = try folder.names(ending: ".ring").filter { !$0.hasPrefix("piped.") }
    let session = try #require(living.first?.split(separator: ".").dropLast().last)
    #expect(
      lines.first?.contains("(session \(session)) was running, though readers") == true, "\(run)")
    let found = try names(file)
    #expect(run.output.hasPrefix("\(file): \(found.count) files, "), "\(run)")
    let rings = try folder.names(ending: ".ring").map { "rings/\($0)" }
    #expect(Set(found).isSuperset(of: rings + ["archives/\(archive.fileName)"]), "\(found)")
    #expect(
      Set(found).isSuperset(of: [
        "machine.json", "versions.json", "status.json", "sessions.json", "statistics.json",
        "manifest.json",
      ]), "\(found)")
    let report = try #require(found.first { $0.hasPrefix("crashes/") })
    #expect(try text(file, report).contains("what killed it"))
    for name in found where name.hasSuffix(".json") {
      for line in try text(file, name).split(separator: "\n") {
        #expect(throws: Never.self, "\(name): \(line)") {
          try JSONSerialization.jsonObject(with: Data(line.utf8))
        }
      }
    }
    let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    // The copies can be read like the files from which they were made.
    let unpacked = TemporaryDirectory()
    let unpack = try shell(
      "tar -xf \(file) -C \(unpacked.path) --strip-components 1", folder: TemporaryDirectory())
    #expect(unpack.status == 0, "\(unpack)")
    // Most of a ring is empty, and takes no space in the tar file.
    let ring = try #require(rings.first { $0.hasPrefix("rings/piped.") })
    #expect(try unpacked.bytes(ring) == folder.bytes(String(ring.dropFirst(6))))
    #expect(try out.bytes("all.tar").count < 4 << 20)
    let read = try decode(["-R", "--format", "message", unpacked.path])
    #expect(
      Set(read.output.split(separator: "\n")) == ["one", "in the ring", "what killed it"],
      "\(read)")
    #expect(read.errors.contains("2 sessions were killed"), "\(read)")
    let quiet = try control(["collect", "-q", "-o", out("quiet.tar"), folder.path])
    #expect(quiet.status == 0 && quiet.output + quiet.errors == "", "\(quiet)")
    try store.close()
  }

  @Test("a limit leaves the oldest out, and says so") func limit() throws {
    let names = (1...4).map { number in
      let log = TestLog(session: UInt64(number))
      log.identity.storeName = "orders"
      log.beginArchive()
      log.close()
      let name = "orders-2025112\(number)T090000Z-\(log.identity.session)-000001.mmlog"
      return folder.put(name, log.archives[0] + [UInt8](repeating: 0, count: 200_000))
    }
    let file = out("part.tar")
    let run = try control(["collect", "-o", file, "--limit", "500K", folder.path])
    #expect(run.errors.contains("--limit leaves out "), "\(run)")
    #expect(try Data(contentsOf: URL(fileURLWithPath: file)).count <= 500 << 10)
    let manifest = try text(file, "manifest.json")
    #expect(names.contains { manifest.contains($0) } && manifest.contains("\"left_out\":[{"))
    let small = try control(["collect", "-o", file, "--limit", "1K", folder.path])
    #expect(small.status == 2 && small.errors.contains("--limit is too small"), "\(small)")
  }

  @Test("a limit counts the paths that the manifest has") func longPaths() throws {
    let deep = (0..<12).reduce(folder.path) { path, _ in
      path + "/" + String(repeating: "d", count: 240)
    }
    try FileManager.default.createDirectory(atPath: deep, withIntermediateDirectories: true)
    for number in 1...100 {
      let log = TestLog(session: UInt64(number))
      log.beginArchive()
      log.close()
      let name = "test-20251121T090000Z-\(log.identity.session)-000001.mmlog"
      folder.put(
        String(deep.dropFirst(folder.path.count + 1)) + "/" + name,
        log.archives[0] + [UInt8](repeating: 0, count: 10_000))
    }
    let file = out("part.tar")
    let run = try control(["collect", "-o", file, "--limit", "900K", deep])
    #expect(run.errors.contains("--limit leaves out "), "\(run)")
    #expect(try Data(contentsOf: URL(fileURLWithPath: file)).count <= 900 << 10)
    let manifest = try text(file, "manifest.json")
    #expect(manifest.contains("\"name\":\"archives/"))
  }

  @Test("nothing is made of nothing") func nothing() throws {
    let run = try control(["collect", "-o", out("x.tar"), folder.path])
    #expect(run.status == 3 && run.errors.contains("there is no log in"), "\(run)")
    #expect(try out.names() == [])
    let log = try control(["collect", "-o", out("x.mmlog"), folder.path])
    #expect(log.status != 0, "\(log)")
    let dash = try shell(
      "cd '\(out.path)' && '\(ChildProcess.path(of: "mmlogctl"))' collect -o - '\(folder.path)'",
      folder: TemporaryDirectory())
    #expect(dash.status == 2 && dash.errors.contains("in place of '-'"), "\(dash)")
    #expect(try out.names() == [])
    let none = try control(["collect", folder.path])
    #expect(none.status == 2 && none.errors.contains("--output"), "\(none)")
  }
}
