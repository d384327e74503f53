/// A shell that completes command lines.
package enum Shell: String, CaseIterable, Sendable {
  case bash, zsh, fish
}

extension Command {
  /// The script that makes a shell complete this command's options, their values, and files; made
  /// from the same table as ``help``.
  package func completions(for shell: Shell) -> String {
    switch shell {
    case .bash: bashCompletions
    case .zsh: zshCompletions
    case .fish: fishCompletions
    }
  }

  /// `mmlog-decode` as part of a shell function's name.
  private var identifier: String {
    name.map { $0.isLetter || $0.isNumber ? String($0) : "_" }.joined()
  }

  private var bashCompletions: String {
    let choices = options.filter { !$0.choices.isEmpty }.map { option in
      "    \(names(option).joined(separator: " | "))) "
        + "COMPREPLY=($(compgen -W '\(option.choices.joined(separator: " "))' -- \"$current\")) && return ;;\n"
    }
    let free = options.filter {
      $0.choices.isEmpty && $0.placeholder != nil && $0.impliedValue == nil && !$0.takesFile
    }
    let none = free.flatMap(names).joined(separator: " | ")
    let words = options.map { "--\($0.long)" }.joined(separator: " ")
    return """
      # Completion of \(name) for bash. Made by '\(name) --completions bash': do not edit.
      _\(identifier)() {
        local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
        # bash takes --option=value apart at the equals sign.
        if [[ $current == = ]]; then
          current=
        elif [[ $before == = ]]; then
          before=${COMP_WORDS[COMP_CWORD - 2]}
        fi
        COMPREPLY=()
        case $before in
      \(choices.joined())\(none.isEmpty ? "" : "    \(none)) return ;;\n")  esac
        if [[ $current == -* ]]; then
          COMPREPLY=($(compgen -W '\(words)' -- "$current"))
        else
          compopt -o filenames
          mapfile -t COMPREPLY < <(compgen -f -- "$current")
        fi
      }
      complete -F _\(identifier) \(name)

      """
  }

  private var zshCompletions: String {
    let specifications = options.map { option -> String in
      let text = option.firstSentence.map { character in
        "[]:\\".contains(character) ? "\\\(character)" : String(character)
      }.joined()
      let value = option.placeholder.map { placeholder in
        let action =
          option.takesFile
          ? "_files" : option.choices.isEmpty ? " " : "(\(option.choices.joined(separator: " ")))"
        let colon = option.impliedValue == nil ? ":" : "::"
        return
          "\(colon)\(option.choices.isEmpty ? placeholder.lowercased() : option.long):\(action)"
      }
      let repeats = option.isRepeatable ? "*" : ""
      let equals = option.placeholder == nil ? "" : "="
      return names(option).map { name in
        let sign = name.hasPrefix("--") ? equals : (option.placeholder == nil ? "" : "+")
        return "    \(quoted("\(repeats)\(name)\(sign)[\(text)]\(value ?? "")")) \\\n"
      }.joined()
    }
    return """
      #compdef \(name)
      # Completion of \(name) for zsh. Made by '\(name) --completions zsh': do not edit.
      _\(identifier)() {
        _arguments -s \\
      \(specifications.joined())    '*:\(operands?.placeholder.lowercased() ?? "argument"):_files'
      }
      if [[ ${funcstack[1]} == _\(identifier) || ${funcstack[1]} == _\(name) ]]; then
        _\(identifier) "$@"
      else
        compdef _\(identifier) \(name)
      fi

      """
  }

  private var fishCompletions: String {
    let lines = options.map { option -> String in
      var line = "complete -c \(name) -l \(option.long)"
      if let short = option.short { line += " -s \(short)" }
      // A file may follow where a value is left out.
      if option.placeholder != nil, option.impliedValue == nil {
        line += option.takesFile ? " -r -F" : " -x"
      }
      if !option.choices.isEmpty { line += " -a \(quoted(option.choices.joined(separator: " ")))" }
      return line + " -d \(quoted(option.firstSentence, fish: true))\n"
    }
    return """
      # Completion of \(name) for fish. Made by '\(name) --completions fish': do not edit.
      \(lines.joined())
      """
  }

  private func names(_ option: Option) -> [String] {
    (option.short.map { ["-\($0)"] } ?? []) + ["--\(option.long)"]
  }

  private func quoted(_ text: String, fish: Bool = false) -> String {
    let escaped = text.map { character -> String in
      if character == "'" { return fish ? "\\'" : "'\\''" }
      return fish && character == "\\" ? "\\\\" : String(character)
    }
    return "'\(escaped.joined())'"
  }
}

extension Option {
  /// Whether its value is the name of a file.
  fileprivate var takesFile: Bool {
    guard let placeholder else { return false }
    return ["FILE", "DIR", "DIRECTORY", "PATH"].contains(placeholder)
  }

  /// What fits beside a name in a shell's list.
  fileprivate var firstSentence: String {
    var sentence = ""
    for character in help {
      if ".;:".contains(character), sentence.count > 12 { break }
      sentence.append(character)
    }
    return sentence
  }
}
