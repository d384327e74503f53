import MMLog
import MMLogSystem
import TestSupport
import Testing

/// What the shell completion offers: labels, sessions and stores of the logs that a line names.
@Suite struct CandidateTests {
  private let folder = TemporaryDirectory()

  @Test("labels sessions and stores are listed, and nothing that a shell would run")
  func lists() throws {
    let store = try LogStore(directory: folder.path, name: "orders")
    store.logger(label: "orders.match").info("one")
    try store.rotate()
    store.logger(label: "$(touch /tmp/x)").info("two")
    store.logger(label: "db.pool").info("three")
    for run in [
      try decode(["--candidates", "labels", "print", "--label", "", folder.path]),
      try control(["--candidates", "labels"], environment: ["MMLOG_DIR": folder.path]),
    ] {
      #expect(run == Run(output: "db.pool\norders.match\n", errors: "", status: 0))
    }
    #expect(try control(["--candidates", "stores", folder.path]).output == "orders\n")
    let (home, name) = folder.path.splitAtLastSlash
    let archive = try store.archives()[0].path
    for (word, variables) in [("~/\(name)", ["HOME": home, "MMLOG_DIR": "/"]), (archive, [:])] {
      let run = try decode(["--candidates", "stores", word], environment: variables)
      #expect(run.output == "orders\n", "\(word)")
    }
    let sessions = try decode(["--candidates", "sessions", folder.path]).output
    #expect(sessions == "\(try store.archives()[0].session)\n")
    for words in [["labels"], ["labels", folder("nowhere")], ["nothing", folder.path]] {
      let run = try decode(["--candidates"] + words, environment: ["MMLOG_DIR": ""])
      #expect(run == Run(output: "", errors: "", status: 0))
    }
    try store.close()
  }

  @Test("bash offers them") func bash() throws {
    let store = try LogStore(directory: folder.path, name: "orders")
    store.logger(label: "orders.match").info("one")
    store.logger(label: "db.pool").info("two")
    let line = """
      set -u; compopt() { :; }; source <('\(tool)' --completions bash)
      COMP_WORDS=('\(tool)' print '\(folder.path)' --label or); COMP_CWORD=4
      _mmlog_decode; printf '%s\\n' ${COMPREPLY[@]+"${COMPREPLY[@]}"}
      """
    let run = try shell(line, folder: TemporaryDirectory())
    #expect(run == Run(output: "orders.match\n", errors: "", status: 0))
    try store.close()
  }
}
