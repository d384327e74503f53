import MMLogReader
import MMLogSystem
import Testing

@Suite("Words of a shell") struct ShellWordTests {
  private static let words = [
    ("a b", "'a b'"), ("it's", #"'it'\''s'"#), ("$(x)`y`", "'$(x)`y`'"), ("", "''"),
    // Some shells take no escape in such a word: there, `\'` would end the word.
    ("a\n'\u{1B}\\\u{202E}", #"$'a\012\047\033\\\342\200\256'"#), ("é", "'é'"),
    // For Swift, this is one `Character`; for a shell, it is two.
    ("'\u{301};id;'", "''\\''\u{301};id;'\\'''"), ("\u{600}'", "'\u{600}'\\'''"),
  ]

  @Test("a word is quoted for a shell", arguments: words)
  func quoting(text: String, word: String) {
    #expect(text.quotedForShell.utf8.elementsEqual(word.utf8), "\(text.quotedForShell)")
  }

  @Test("a shell reads it as one word, and runs nothing", arguments: words)
  func oneWord(text: String, word: String) {
    // In most distributions, `sh` does not know `$'`.
    for shell in ["bash", "sh"] {
      let line = "set -- \(text.quotedForShell); echo $#"
      #expect(PipedProgram.output(of: [shell, "-c", line]) == "1\n", "\(shell): \(line)")
    }
  }
}
