import MMLogFormat

/// What a formatter knows of a session or a thread: found out once, and then kept.
struct ObjectValues<Object: AnyObject, Value> {
  // Two variables, not a pair: taking a pair apart would count references for each record.
  private var lastObject: Object?
  private var lastValue: Value?
  private var all: [ObjectIdentifier: (object: Object, value: Value)] = [:]

  /// More objects than occur at one time. If there are more, all values are forgotten.
  private static var maximum: Int { 1024 }

  /// The value of an object; `make` makes it if it is not known yet.
  @inline(__always)
  mutating func value(of object: Object, _ make: () -> Value) -> Value {
    if lastObject === object, let lastValue { return lastValue }
    return find(object, make)
  }

  private mutating func find(_ object: Object, _ make: () -> Value) -> Value {
    let (object, value) = entry(object, make)
    (lastObject, lastValue) = (object, value)
    return value
  }

  private mutating func entry(
    _ object: Object, _ make: () -> Value
  ) -> (object: Object, value: Value) {
    let key = ObjectIdentifier(object)
    // The object is kept, so that no other gets its address.
    if let entry = all[key] { return entry }
    if all.count >= Self.maximum { all.removeAll() }
    let entry = (object, make())
    all[key] = entry
    return entry
  }
}

/// The text of a formatter about a session or a thread.
package struct ObjectTexts<Object: AnyObject> {
  private var texts = ObjectValues<Object, [UInt8]>()
  /// How many bytes the texts take. A session may have fields of megabytes.
  private var bytes = 0
  private static var maximumBytes: Int { 16 << 20 }

  /// Makes texts of no objects yet.
  package init() {}

  /// Appends the text of an object; `make` makes it if it is not known yet.
  @inline(__always)
  package mutating func append(
    _ object: Object, to output: inout TextBuffer, _ make: (inout TextBuffer) -> Void
  ) {
    var made = 0
    output.append(
      texts.value(of: object) {
        var buffer = TextBuffer()
        make(&buffer)
        made = buffer.count
        return buffer.withUnsafeBytes { Array($0) }
      })
    if made > 0 { count(made) }
  }

  private mutating func count(_ made: Int) {
    bytes += made
    if bytes >= Self.maximumBytes { self = ObjectTexts() }
  }
}
