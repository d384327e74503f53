import MMLogFormat

/// "Select graphic rendition" of ECMA-48: the colors that users have chosen for their terminal, so
/// that they stand out from its background, whether that is light or dark.
package enum SGR {
  package static let reset: StaticString = "\u{1b}[0m"
  static let faint: StaticString = "\u{1b}[2m"
  static let cyan: StaticString = "\u{1b}[36m"
  /// What was searched for, as grep shows it.
  static let found: StaticString = "\u{1b}[1;31m"

  package static func color(of level: Level) -> StaticString {
    switch level {
    case .trace, .debug: faint
    case .info: "\u{1b}[32m"
    case .notice: "\u{1b}[34m"
    case .warning: "\u{1b}[33m"
    case .error: "\u{1b}[31m"
    case .critical, .off: "\u{1b}[1;37;41m"
    }
  }
}
