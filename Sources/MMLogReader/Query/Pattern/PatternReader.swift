/// Reads the characters of a pattern one by one, and makes errors about them.
struct PatternReader {
  private let pattern: String
  private let scalars: [Unicode.Scalar]
  private(set) var position = 0

  init(_ pattern: String) {
    self.pattern = pattern
    scalars = Array(pattern.unicodeScalars)
  }

  var next: Unicode.Scalar? { position < scalars.count ? scalars[position] : nil }

  /// The character `distance` places behind ``next``.
  func peek(_ distance: Int) -> Unicode.Scalar? {
    position + distance < scalars.count ? scalars[position + distance] : nil
  }

  mutating func pop() -> Unicode.Scalar? {
    defer { position += 1 }
    return next
  }

  mutating func take(_ text: String) -> Bool {
    let expected = Array(text.unicodeScalars)
    guard scalars[min(position, scalars.count)...].starts(with: expected) else { return false }
    position += expected.count
    return true
  }

  /// Takes characters as long as they fit.
  mutating func take(while fits: (Unicode.Scalar) -> Bool) -> String {
    var text = String.UnicodeScalarView()
    while let next, fits(next) {
      text.append(next)
      position += 1
    }
    return String(text)
  }

  mutating func skip(_ count: Int) { position += count }

  /// An error with its place: `start` counts from 0, and the error counts from 1, as people do.
  func refusal(_ what: String, at start: Int) -> TextPattern.Invalid {
    TextPattern.Invalid(
      description: "'\(pattern)' is not understood at character \(start + 1): \(what)")
  }
}
