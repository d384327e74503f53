import Foundation
import MMLog
import MMLogAnalysis
import MMLogReader
import MMLogSystem
import TestSupport
import Testing

/// What is true of all records of a session.
@Suite("Session fields") struct SessionFieldTests {
  private static let fields: Logger.Metadata = [
    "service.version": "1.4.2", "shard": 7, "service.version": "again", "tags": ["a", "b"],
  ]

  private func names(_ session: LogReader.Session) -> [String] {
    session.fields.map(\.name).filter {
      !["systemd.unit", "container.id", "k8s.pod.uid"].contains($0)
    }
  }

  @Test("own header fields are in each file: after a close, after a death, and after a rotation")
  func places() throws {
    let test = try TestStore { $0.fields = Self.fields }
    let expected = ["service.version", "shard", "service.version", "tags"]
    test.log.info("one")
    // As after the death of the process: the ring is read as it is.
    #expect(names(try #require(Contents(test.folder.path).records.first).session) == expected)
    _ = try test.store.rotate()
    test.log.info("two")
    let contents = try test.closeAndRead()
    #expect(contents.isClean && contents.messages == ["one", "two"])
    for archive in try FileManager.default.contentsOfDirectory(atPath: test.folder.path)
    where archive.hasSuffix(".mmlog") {
      let alone = Contents(test.folder.path + "/" + archive)
      #expect(names(try #require(alone.records.first).session) == expected)
    }
    let overview = try #require(
      LogFiles([.path(test.folder.path)]).overview().first)
    #expect(names(overview.session) == expected)
  }

  @Test("readers show them once, or with each record")
  func outputs() throws {
    let test = try TestStore { $0.fields = Self.fields }
    test.log.info("one")
    let records = try test.closeAndRead().records
    func text(_ formatter: some LogFormatter) -> String {
      var formatter = formatter
      var output = TextBuffer()
      formatter.begin(&output)
      for record in records { formatter.append(record, to: &output) }
      formatter.pause(&output)
      return output.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
    let json = text(JSONFormatter(zone: .utc))
    #expect(
      json.contains(
        #""resource":{"service.version":"1.4.2","shard":7,"service.version#2":"again","tags":["a","b"]"#
      ))
    _ = try JSONSerialization.jsonObject(with: Data(json.utf8))
    #expect(text(LogfmtFormatter(zone: .utc)).contains(#" service.version=1.4.2 shard=7 "#))
    let otlp = text(OTLPFormatter())
    #expect(otlp.contains(#"{"key":"shard","value":{"intValue":"7"}}"#))
    _ = try JSONSerialization.jsonObject(with: Data(otlp.utf8))
  }

  @Test("fields that would take most of the dictionary are refused")
  func tooMany() {
    let error = #expect(throws: LogError.self) {
      _ = try TestStore {
        $0.dictionarySize = 4096
        $0.fields = ["large": .string(String(repeating: "x", count: 1024))]
      }
    }
    #expect(error?.code == .invalidConfiguration)
  }

  @Test(
    "the control group says unit, container and pod",
    arguments: [
      ("0::/system.slice/orders.service\n", ControlGroup(unit: "orders.service")),
      ("0::/\n", ControlGroup()), ("", ControlGroup()), ("x\n::\n1:2\n", ControlGroup()),
      (
        "12:pids:/docker/\(String(repeating: "a1", count: 32))\n",
        ControlGroup(container: String(repeating: "a1", count: 32))
      ),
      (
        "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-"
          + "pod5d1f3c0e_8a8c_4b7e_9d21_0123456789ab.slice/cri-containerd-"
          + "\(String(repeating: "0f", count: 32)).scope\n",
        ControlGroup(
          container: String(repeating: "0f", count: 32),
          pod: "5d1f3c0e-8a8c-4b7e-9d21-0123456789ab")
      ),
      (
        "0::/user.slice/user-1000.slice/user@1000.service/app.slice/app.service\n",
        ControlGroup(unit: "app.service")
      ),
    ])
  func controlGroup(text: String, expected: ControlGroup) {
    #expect(ControlGroup(text) == expected)
  }
}
