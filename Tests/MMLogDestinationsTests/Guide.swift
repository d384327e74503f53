import Foundation
import TestSupport

/// The blocks that docs/SHIPPING.md shows.
enum Guide {
  private static let lines: [Substring] = {
    let path = #filePath.split(separator: "/").dropLast(3).map { "/\($0)" }.joined()
    return Folder.text("\(path)/docs/SHIPPING.md").split(
      separator: "\n", omittingEmptySubsequences: false)
  }()

  /// The blocks in one language.
  static func blocks(of language: String) -> [String] {
    sections.flatMap(\.blocks).filter { $0.language == language }.map(\.text)
  }

  /// The configurations in the sections below "Destinations".
  static var configurations: [(title: String, text: String)] {
    sections.filter { $0.parent == "Destinations" }.flatMap { section in
      section.blocks.filter { $0.language == "ini" }.map { (section.title, $0.text) }
    }
  }

  private struct Section {
    let parent: String
    let title: String
    var blocks: [(language: String, text: String)] = []
  }

  private static let sections: [Section] = {
    var sections = [Section(parent: "", title: "")]
    var (parent, block) = ("", nil as (language: String, text: String)?)
    for line in lines {
      if let open = block {
        if line == "```" {
          sections[sections.count - 1].blocks.append(open)
          block = nil
        } else {
          block?.text += line + "\n"
        }
      } else if line.hasPrefix("```") {
        block = (String(line.dropFirst(3)), "")
      } else if line.hasPrefix("## ") {
        parent = String(line.dropFirst(3))
        sections.append(Section(parent: "", title: parent))
      } else if line.hasPrefix("### ") {
        sections.append(Section(parent: parent, title: String(line.dropFirst(4))))
      }
    }
    return sections
  }()
}
