package import MMLogFormat

/// The name of a field, where it stands.
package enum FieldName {
  case text(String)
  /// As it was logged, meant to be UTF-8.
  case bytes(UnsafeRawBufferPointer)
  /// In the form that it was asked for in.
  case ready(UnsafeRawBufferPointer)

  /// Appends it in a form: of a ready one, its own.
  @inline(__always)
  package func append(_ form: TextForm, to output: inout TextBuffer) {
    switch self {
    case .ready(let bytes): output.append(bytes)
    case .bytes(let bytes): output.append(repairing: bytes, form)
    case .text(let text): output.append(text, form)
    }
  }

  /// As text.
  package var string: String {
    switch self {
    case .text(let text): text
    case .bytes(let bytes), .ready(let bytes): String(decoding: bytes, as: UTF8.self)
    }
  }
}
