/// What a formatter has to say of a session or a thread: made once, and then copied.
struct ObjectTexts<Object: AnyObject> {
  private var last: (object: Object, text: [UInt8])?
  private var all: [ObjectIdentifier: (object: Object, text: [UInt8])] = [:]

  /// More than are met at one time. Then it is begun anew.
  private static var most: Int { 1024 }

  /// Appends the text of an object; `make` makes it if it is not known yet.
  @inline(__always)
  mutating func append(
    _ object: Object, to output: inout TextBuffer, _ make: (inout TextBuffer) -> Void
  ) {
    if last?.object !== object { last = entry(object, make) }
    if let last { output.append(last.text) }
  }

  private mutating func entry(
    _ object: Object, _ make: (inout TextBuffer) -> Void
  ) -> (object: Object, text: [UInt8]) {
    let key = ObjectIdentifier(object)
    // The object is kept, so that no other gets its address.
    if let entry = all[key] { return entry }
    if all.count >= Self.most { all.removeAll() }
    var buffer = TextBuffer()
    make(&buffer)
    let entry = (object, buffer.withUnsafeBytes { Array($0) })
    all[key] = entry
    return entry
  }
}
