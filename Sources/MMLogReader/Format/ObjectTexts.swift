/// What a formatter has to say of a session or a thread: made once, and then copied.
struct ObjectTexts<Object: AnyObject> {
  // Not a pair of both: taking that apart would count references, for each record.
  private var lastObject: Object?
  private var lastText: [UInt8] = []
  private var all: [ObjectIdentifier: (object: Object, text: [UInt8])] = [:]

  /// More than are met at one time. Then it is begun anew.
  private static var maximum: Int { 1024 }
  /// What the texts take. A session may have fields of megabytes.
  private var bytes = 0
  private static var maximumBytes: Int { 16 << 20 }

  /// Appends the text of an object; `make` makes it if it is not known yet.
  @inline(__always)
  mutating func append(
    _ object: Object, to output: inout TextBuffer, _ make: (inout TextBuffer) -> Void
  ) {
    if lastObject !== object { find(object, make) }
    output.append(lastText)
  }

  private mutating func find(_ object: Object, _ make: (inout TextBuffer) -> Void) {
    (lastObject, lastText) = entry(object, make)
  }

  private mutating func entry(
    _ object: Object, _ make: (inout TextBuffer) -> Void
  ) -> (object: Object, text: [UInt8]) {
    let key = ObjectIdentifier(object)
    // The object is kept, so that no other gets its address.
    if let entry = all[key] { return entry }
    if all.count >= Self.maximum || bytes >= Self.maximumBytes {
      all.removeAll()
      bytes = 0
    }
    var buffer = TextBuffer()
    make(&buffer)
    bytes += buffer.count
    let entry = (object, buffer.withUnsafeBytes { Array($0) })
    all[key] = entry
    return entry
  }
}
