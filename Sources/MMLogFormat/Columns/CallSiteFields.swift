/// What the records of each call site hold, and the metadata of each key set, as far as the call
/// site or key set alone says it. Call sites and key sets have numbers of one sequence.
package struct CallSiteFields {
  /// One call site's share of ``types``.
  struct Shape {
    var arguments = 0..<0
    /// Whether every argument has the same fields whatever its value.
    var isFixed = false
    /// This call site's share of ``gaps``.
    var gaps = 0..<0
    /// How many words there are behind the last string of fixed arguments.
    var tail = 0
  }

  /// Shapes by number. An unknown number has no entry, or one without arguments that is not fixed.
  private(set) var shapes: [Shape] = []
  /// The argument types of all call sites.
  private(set) var types: [UInt8] = []
  /// The way through fixed arguments: for each string, how many words there are between it and the
  /// string before.
  private(set) var gaps: [Int] = []
  private var count = 0

  package init() {}

  /// Takes in every call site and key set among the entries that follow one another in `bytes`.
  package mutating func add(entriesIn bytes: UnsafeRawBufferPointer, seed: UInt32) {
    var scanner = EntryScanner(bytes, seed: seed)
    while let next = scanner.next() {
      switch next.entry {
      case .callSite(let id, let site):
        add(
          id,
          site.parts.lazy.compactMap {
            if case .argument(let argument) = $0 { argument.type } else { nil }
          })
      case .keySet(let id, let set): add(id, set.keys.lazy.map(\.type))
      case .label, .sessionFields, .lastState: continue
      }
    }
  }

  /// ``shapes`` and ``gaps``, for many records in a row.
  @inline(__always)
  func withFixed(_ body: (UnsafeBufferPointer<Shape>, UnsafeBufferPointer<Int>) -> Void) {
    shapes.withUnsafeBufferPointer { shapes in
      gaps.withUnsafeBufferPointer { gaps in body(shapes, gaps) }
    }
  }

  private mutating func add(_ id: UInt32, _ newTypes: some Sequence<UInt8>) {
    count += 1
    // Writers count from 1. Numbers far above the count are ignored: a hostile one would cost
    // memory.
    guard Int(id) < nearNumbers(count) else { return }
    while shapes.count <= Int(id) { shapes.append(Shape()) }
    var shape = Shape(isFixed: true)
    let (firstType, firstGap) = (types.count, gaps.count)
    for type in newTypes {
      types.append(type)
      let fields = ValueType(rawValue: type)?.fixedFields
      shape.isFixed = shape.isFixed && fields != nil
      for field in fields ?? [] {
        shape.tail += 1
        if field == .string {
          gaps.append(shape.tail - 1)
          shape.tail = 0
        }
      }
    }
    shape.arguments = firstType..<types.count
    shape.gaps = firstGap..<gaps.count
    shapes[Int(id)] = shape
  }
}

extension ValueType {
  /// The fields that every value of this type has, or nil if that depends on the value.
  var fixedFields: [ColumnField]? {
    switch self {
    case .int, .uint, .float, .bool, .hash: [.word]
    case .double: [.double]
    case .string, .bytes, .sealed: [.string]
    case .int128, .uint128: [.word, .word]
    case .redacted, .null: []
    case .array, .dictionary: nil
    }
  }
}
