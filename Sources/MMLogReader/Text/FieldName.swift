/// The name of a field where it stands.
enum FieldName {
  case argument(String)
  case metadata(UnsafeRawBufferPointer)

  /// Its UTF-8, as it was logged.
  func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    switch self {
    case .metadata(let bytes): return body(bytes)
    case .argument(var name): return name.withUTF8 { body(UnsafeRawBufferPointer($0)) }
    }
  }

  var text: String { withBytes { String(decoding: $0, as: UTF8.self) } }
}
