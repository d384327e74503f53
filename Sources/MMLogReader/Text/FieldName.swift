package import MMLogFormat

/// The name of a field, where it stands.
package enum FieldName {
  case text(String)
  /// As it was logged, meant to be UTF-8.
  case bytes(UnsafeRawBufferPointer)
  /// In the form that was asked for.
  case ready(UnsafeRawBufferPointer)

  /// Appends the name in a form. A ready name stays in its own form.
  @inline(__always)
  package func append(_ form: TextForm, to output: inout TextBuffer) {
    switch self {
    case .ready(let bytes): output.append(bytes)
    case .bytes(let bytes): output.append(repairing: bytes, form)
    case .text(let text): output.append(text, form)
    }
  }

  /// The name as text.
  package var string: String {
    switch self {
    case .text(let text): text
    case .bytes(let bytes), .ready(let bytes): String(decoding: bytes, as: UTF8.self)
    }
  }
}
