import MMLog
import TestSupport
import Testing

/// `mmlogctl pin`, `unpin`, `uploaded`.
@Suite struct MarkTests {
  private let folder = TemporaryDirectory()

  @Test("archives are pinned, uploaded and released, as the store sees it")
  func marks() throws {
    let store = try LogStore(directory: folder.path, name: "orders")
    store.logger(label: "l").info("one")
    let archive = try #require(try store.rotate())
    let pinned = try control(["pin", "--reason", "incident 7", archive.path])
    #expect(pinned == Run(output: "pinned  \(archive.path)\n", errors: "", status: 0))
    #expect(try store.archives().first?.state.pinned == "incident 7")
    let pruned = try control(["prune", "--total-size", "1", folder.path])
    #expect(pruned.status == 1 && pruned.output.contains("it is pinned: incident 7"), "\(pruned)")
    let uploaded = try control(["uploaded", "--receipt", "v1", archive.path])
    #expect(uploaded.status == 0 && uploaded.output == "uploaded  \(archive.path)\n")
    #expect(try store.archives().first?.state.receipt == "v1")
    let inspected = try decode(["inspect", archive.path]).output
    #expect(inspected.contains("noted: uploaded at") && inspected.contains("receipt v1"))
    // The commands also work while no store is open.
    try store.close()
    #expect(try control(["unpin", "-q", archive.path]) == Run(output: "", errors: "", status: 0))
    #expect(try control(["uploaded", "--undo", archive.path]).status == 0)
    #expect(try !decode(["inspect", archive.path]).output.contains("noted:"))
    #expect(try control(["pin", "-q", archive.path]).status == 0)
    #expect(try decode(["inspect", archive.path]).output.contains("noted: pinned"))
  }

  @Test("what is no sealed archive is refused, and the others are marked")
  func refusals() throws {
    let store = try LogStore(directory: folder.path, name: "orders")
    store.logger(label: "l").info("one")
    try store.flush(.archive)
    let active = folder(try folder.names(ending: ".mmlog")[0])
    let run = try control(["uploaded", active])
    #expect(run.status == 1 && run.errors.contains("'mmlogctl rotate' has it sealed"), "\(run)")
    let other = folder.put("notes.txt", "x")
    let session = String(repeating: "0", count: 32)
    let missing = folder("orders-20251121T090000Z-\(session)-000001.mmlog")
    let mixed = try control(["pin", other, missing, active])
    #expect(mixed.status == 1 && mixed.output == "pinned  \(active)\n", "\(mixed)")
    #expect(mixed.errors.split(separator: "\n").count == 2, "\(mixed)")
    let misspelled = try control(["pin", folder("nosuch.mmlog")])
    #expect(misspelled.status == 1 && misspelled.errors.contains("No such file"), "\(misspelled)")
    #expect(!misspelled.errors.contains("is no archive"), "\(misspelled)")
    let none = try control(["pin"])
    #expect(none.status == 2 && none.errors.contains("FILE is missing"), "\(none)")
    try store.close()
  }
}
