#if SwiftLog
  import Logging
  import MMLog

  // These functions read the pairs of a dictionary where they are in memory. `for in` copies each
  // key and each value, which counts references: half of what a pair costs.
  extension Logging.Logger.Metadata {
    /// Calls `body` with all pairs: up to 32 in the order of their keys, more in any order.
    ///
    /// Two dictionaries of the same keys have them in different orders, and each order would be a
    /// key set of its own.
    @inline(__always)
    func forEachInOrder(
      _ body: (UnsafePointer<String>, UnsafePointer<Logging.Logger.MetadataValue>) -> Void
    ) {
      // This is the layout of the standard library that comes with the compiler
      // (DictionaryStorage.swift, HashTable.swift). A later one may differ.
      #if os(Linux) && _pointerBitWidth(_64) && compiler(<6.4)
        withExtendedLifetime(self) {
          if count < 2 || count > Self.mostSorted { return forEachInPlace(body) }
          withUnsafeTemporaryAllocation(of: PairInPlace.self, capacity: Self.mostSorted) { pairs in
            var count = 0
            forEachInPlace { key, value in
              let pair = PairInPlace(key: key, value: value)
              var place = count
              while place > 0, pair.precedes(pairs[place &- 1]) {
                pairs[place] = pairs[place &- 1]
                place &-= 1
              }
              pairs[place] = pair
              count &+= 1
            }
            for index in 0..<count { body(pairs[index].key, pairs[index].value) }
          }
        }
      #else
        for (key, value) in sorted(by: { $0.key < $1.key }) {
          withUnsafePointer(to: key) { key in withUnsafePointer(to: value) { body(key, $0) } }
        }
      #endif
    }

    /// The pairs that are sorted are on the stack.
    private static var mostSorted: Int { 32 }

    #if os(Linux) && _pointerBitWidth(_64) && compiler(<6.4)
      @inline(__always)
      private func forEachInPlace(
        _ body: (UnsafePointer<String>, UnsafePointer<Logging.Logger.MetadataValue>) -> Void
      ) {
        let storage = unsafeBitCast(self, to: UnsafeRawPointer.self)
        let buckets = 1 << Int(storage.load(fromByteOffset: 32, as: Int8.self))
        let keys = storage.load(fromByteOffset: 48, as: UnsafePointer<String>.self)
        let values = storage.load(
          fromByteOffset: 56, as: UnsafePointer<Logging.Logger.MetadataValue>.self)
        // There is a bit for each bucket. A small dictionary has fewer bits than a word.
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
    #endif
  }

  /// Where a pair of a dictionary is.
  private struct PairInPlace {
    let key: UnsafePointer<String>
    let value: UnsafePointer<Logging.Logger.MetadataValue>
    private let leadingBytes: UInt64

    @inline(__always)
    init(key: UnsafePointer<String>, value: UnsafePointer<Logging.Logger.MetadataValue>) {
      (self.key, self.value) = (key, value)
      leadingBytes = TextWords(at: key).leadingBytes
    }

    /// Whether its key comes before that of another pair.
    @inline(__always)
    func precedes(_ other: PairInPlace) -> Bool {
      leadingBytes == other.leadingBytes
        ? key.pointee < other.key.pointee : leadingBytes < other.leadingBytes
    }
  }

  extension UnsafePointer<Logging.Logger.MetadataValue> {
    /// Where the value's string is, if it is one and ``findsStrings``.
    @inline(__always)
    var string: UnsafeRawPointer? { kind == 0 ? UnsafeRawPointer(self) : nil }

    /// Which case it is: this byte is behind the largest case, which leaves no bit free.
    @inline(__always)
    private var kind: UInt8 {
      UnsafeRawPointer(self).load(
        fromByteOffset: MemoryLayout<Pointee>.size - 1, as: UInt8.self)
    }

    /// Whether values have the layout that ``string`` expects: swift-log may change. Read this once
    /// for all values of a record, since it is a call.
    static let findsStrings: Bool = {
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
