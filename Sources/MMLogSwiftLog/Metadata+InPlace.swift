#if SwiftLog
  import Logging

  // Pairs of a dictionary where they are in memory. `for in` copies each key and each value, which
  // counts references: half of what a pair costs.
  extension Logging.Logger.Metadata {
    /// Calls `body` with all pairs, in no order.
    @inline(__always)
    func forEachInPlace(
      _ body: (UnsafePointer<String>, UnsafePointer<Logging.Logger.MetadataValue>) -> Void
    ) {
      // As the standard library has it that comes with the compiler (DictionaryStorage.swift,
      // HashTable.swift). A later one may have it otherwise.
      #if os(Linux) && _pointerBitWidth(_64) && compiler(<6.4)
        withExtendedLifetime(self) {
          let storage = unsafeBitCast(self, to: UnsafeRawPointer.self)
          let buckets = 1 << Int(storage.load(fromByteOffset: 32, as: Int8.self))
          let keys = storage.load(fromByteOffset: 48, as: UnsafePointer<String>.self)
          let values = storage.load(
            fromByteOffset: 56, as: UnsafePointer<Logging.Logger.MetadataValue>.self)
          // A bit for each bucket, of which a small dictionary has fewer than a word.
          var bucket = 0
          while bucket < buckets {
            var bits = storage.load(fromByteOffset: 64 + bucket / 8, as: UInt.self)
            if buckets < UInt.bitWidth { bits &= (1 << buckets) - 1 }
            while bits != 0 {
              let place = bucket + bits.trailingZeroBitCount
              body(keys + place, values + place)
              bits &= bits - 1
            }
            bucket += UInt.bitWidth
          }
        }
      #else
        for (key, value) in self {
          withUnsafePointer(to: key) { key in withUnsafePointer(to: value) { body(key, $0) } }
        }
      #endif
    }
  }

  extension UnsafePointer<Logging.Logger.MetadataValue> {
    /// Where the value's string is, if it is one; nil also if that is not known.
    @inline(__always)
    var string: UnsafeRawPointer? {
      Self.findsStrings && kind == 0 ? UnsafeRawPointer(self) : nil
    }

    /// Which case it is: behind the largest one, which leaves no bit free.
    @inline(__always)
    private var kind: UInt8 {
      UnsafeRawPointer(self).load(
        fromByteOffset: MemoryLayout<Pointee>.size - 1, as: UInt8.self)
    }

    /// Whether values are as ``string`` takes them to be: swift-log may change.
    private static let findsStrings: Bool = {
      func kind(_ value: Pointee) -> UInt8 { withUnsafePointer(to: value) { $0.kind } }
      func words(_ value: some Any) -> (UInt64, UInt64) {
        withUnsafeBytes(of: value) { $0.loadUnaligned(as: (UInt64, UInt64).self) }
      }
      let texts = ["", "small", String(repeating: "not small", count: 3)]
      let others: [Pointee] = [.stringConvertible(1), .dictionary([:]), .array([])]
      return MemoryLayout<Pointee>.size > MemoryLayout<String>.size
        && texts.allSatisfy { kind(.string($0)) == 0 && words(Pointee.string($0)) == words($0) }
        && others.allSatisfy { kind($0) != 0 }
    }()
  }
#endif
