/// A shell that completes command lines.
package enum Shell: String, CaseIterable, Sendable {
  case bash, zsh, fish
}

extension Command {
  /// The script with which a shell completes this command's options, their values, and files. It is
  /// made from the same table as ``help``.
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
    """
    # Completion of \(name) for bash. Made by '\(name) --completions bash': do not edit.
    \(candidates == nil ? "" : bashHelper)_\(identifier)() {
      local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} options
      # bash takes --option=value apart at the equals sign.
      if [[ $current == = ]]; then
        current=
      elif [[ $before == = ]]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
      fi
      COMPREPLY=()
    \(commands.isEmpty ? bashCases : bashCommands)  if [[ $current == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$current"))
      else
        compopt -o filenames
        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$current")
      fi
    }
    complete -F _\(identifier) \(name)

    """
  }

  /// The name of the function that asks the program for values.
  private var helper: String {
    "_\(program.map { $0.isLetter || $0.isNumber ? String($0) : "_" }.joined())_candidates"
  }

  /// The script evaluates nothing that the program lists.
  private var bashHelper: String {
    """
    \(helper)() {
      local name
      while IFS= read -r name; do
        [[ $name == "$current"* ]] && COMPREPLY+=("$name")
      done < <("${COMP_WORDS[0]}" --candidates "$1" "${COMP_WORDS[@]:1}" 2>/dev/null)
    }

    """
  }

  private var zshHelper: String {
    """
    \(helper)() {
      local -a found=(${(f)"$(\(name) --candidates $1 "${(@)words[2,-1]}" 2>/dev/null)"})
      compadd -a found
    }

    """
  }

  private var bashCommands: String {
    // The first command, which runs where none is named, stands last: any other word.
    let cases = (commands.dropFirst() + commands.prefix(1)).map { command in
      let pattern = command.word == commands[0].word ? "*" : command.word
      return "  \(pattern))\n\(command.bashCases)    ;;\n"
    }
    let words = commands.map(\.word)
    let own = options.map(\.long).filter { long in
      !commands[0].options.contains { $0.long == long }
    }.map { "--\($0)" }
    return """
        if ((COMP_CWORD == 1)) && [[ $current != -* ]]; then
          COMPREPLY=($(compgen -W '\(words.joined(separator: " "))' -- "$current"))
          # A file may stand there, too: before anything is typed, both are offered.
          [[ -n $current && ${#COMPREPLY[@]} -gt 0 ]] && return
        fi
        case ${COMP_WORDS[1]} in
      \(cases.joined())  esac
        ((COMP_CWORD == 1)) && options+=' \(own.joined(separator: " "))'

      """
  }

  /// Completes the value of an option, or says what options there are.
  private var bashCases: String {
    let choices = options.filter { !$0.choices.isEmpty }.map { option in
      let choices = option.choices.joined(separator: " ")
      return "    \(option.names.joined(separator: " | "))) "
        + "COMPREPLY=($(compgen -W '\(choices)' -- \"$current\")) && return ;;\n"
    }
    let free = options.filter {
      $0.choices.isEmpty && $0.placeholder != nil && !$0.takesFile && $0.candidates == nil
    }
    let listed = options.compactMap { option in
      option.candidates.map { kind in
        "    \(option.names.joined(separator: " | "))) \(helper) \(kind); return ;;\n"
      }
    }
    let none = free.flatMap(\.names).joined(separator: " | ")
    let words = options.map { "--\($0.long)" }.joined(separator: " ")
    return """
        case $before in
      \(choices.joined())\(listed.joined())\(none.isEmpty ? "" : "    \(none)) return ;;\n")  esac
        options='\(words)'

      """
  }

  private var zshCompletions: String {
    """
    #compdef \(name)
    # Completion of \(name) for zsh. Made by '\(name) --completions zsh': do not edit.
    \(candidates == nil ? "" : zshHelper)_\(identifier)() {
    \(commands.isEmpty ? zshArguments : zshCommands)
    }
    if [[ ${funcstack[1]} == _\(identifier) || ${funcstack[1]} == _\(name) ]]; then
      _\(identifier) "$@"
    else
      compdef _\(identifier) \(name)
    fi

    """
  }

  private var zshCommands: String {
    let list = commands.map { "    \(quoted("\($0.word):\($0.summary)"))\n" }.joined()
    let cases = commands.dropFirst().map { command in
      "  \(command.word)) shift words; ((CURRENT--))\n\(command.zshArguments) ;;\n"
    }
    let own = options.map { "    --\($0.long)\n" }.joined()
    return """
        local -a commands=(
      \(list)  ) own=(
      \(own)  )
        if ((CURRENT == 2)); then
          _describe -t commands command commands
          compadd -a own
        fi
        case $words[2] in
      \(cases.joined())  *)
      \(commands[0].zshArguments) ;;
        esac
      """
  }

  private var zshArguments: String {
    let specifications = options.map { option -> String in
      let text = option.firstSentence.map { character in
        "[]:\\".contains(character) ? "\\\(character)" : String(character)
      }.joined()
      let value = option.placeholder.map { placeholder in
        let action =
          option.candidates.map { " \(helper) \($0)" }
          ?? (option.takesFile
            ? "_files"
            : option.choices.isEmpty ? " " : "(\(option.choices.joined(separator: " ")))")
        return ":\(option.choices.isEmpty ? placeholder.lowercased() : option.long):\(action)"
      }
      let repeats = option.isRepeatable ? "*" : ""
      let equals = option.placeholder == nil ? "" : "="
      return option.names.map { name in
        let sign = name.hasPrefix("--") ? equals : (option.placeholder == nil ? "" : "+")
        return "    \(quoted("\(repeats)\(name)\(sign)[\(text)]\(value ?? "")")) \\\n"
      }.joined()
    }
    let operand = operands?.placeholder.lowercased() ?? "argument"
    return "  _arguments -s \\\n\(specifications.joined())    '*:\(operand):_files'"
  }

  private var fishCompletions: String {
    let words = commands.map(\.word).joined(separator: " ")
    let isFirst = "-n 'test (count (commandline -opc)) -eq 1'"
    var lines = commands.map { command in
      "complete -c \(name) \(isFirst) -a \(command.word) "
        + "-d \(quoted(command.summary, fish: true))\n"
    }
    lines += fishLines(of: name, commands.isEmpty ? nil : isFirst)
    for (index, command) in commands.enumerated() {
      let condition =
        index == 0
        ? "not __fish_seen_subcommand_from \(words); or __fish_seen_subcommand_from \(command.word)"
        : "__fish_seen_subcommand_from \(command.word)"
      lines += command.fishLines(of: name, "-n '\(condition)'")
    }
    return """
      # Completion of \(name) for fish. Made by '\(name) --completions fish': do not edit.
      \(lines.joined())
      """
  }

  private func fishLines(of program: String, _ condition: String?) -> [String] {
    options.map { option -> String in
      var line = "complete -c \(program)\(condition.map { " \($0)" } ?? "") -l \(option.long)"
      for letter in option.letters { line += " -s \(letter)" }
      if option.placeholder != nil { line += option.takesFile ? " -r -F" : " -x" }
      if !option.choices.isEmpty { line += " -a \(quoted(option.choices.joined(separator: " ")))" }
      if let kind = option.candidates {
        line += " -a '(\(program) --candidates \(kind) (commandline -opc)[2..] 2>/dev/null)'"
      }
      return line + " -d \(quoted(option.firstSentence, fish: true))\n"
    }
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
  /// Whether the option's value is the name of a file.
  fileprivate var takesFile: Bool {
    guard let placeholder else { return false }
    return ["FILE", "DIR", "DIRECTORY", "PATH"].contains(placeholder)
  }

  /// The part of the help that fits beside a name in a shell's list.
  fileprivate var firstSentence: String {
    var sentence = ""
    for (character, next) in zip(help, help.dropFirst() + " ") {
      // A point within a word, as in 'orders.*', ends nothing.
      if ".;:".contains(character), next.isWhitespace, sentence.count > 12 { break }
      sentence.append(character)
    }
    return sentence
  }
}
