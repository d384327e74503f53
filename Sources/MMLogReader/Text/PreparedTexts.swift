/// Texts that are put out again and again, prepared once in every form.
struct PreparedTexts: Sendable {
  private(set) var bytes: [UInt8] = []

  /// Where a text stands, by form.
  struct Place: BitwiseCopyable, Sendable {
    fileprivate(set) var starts = [5 of UInt32](repeating: 0)
    fileprivate(set) var counts = [5 of UInt32](repeating: 0)

    @inline(__always)
    var isEmpty: Bool { count == 0 }

    /// How many bytes the text has as it is.
    var count: Int { Int(counts[TextForm.raw.rawValue]) }

    /// The bytes of the text in a form.
    ///
    /// - Parameter base: The address of ``PreparedTexts/bytes``.
    @inline(__always)
    func bytes(_ form: TextForm, _ base: UnsafeRawPointer?) -> UnsafeRawBufferPointer {
      UnsafeRawBufferPointer(
        start: base.map { $0 + Int(starts[form.rawValue]) }, count: Int(counts[form.rawValue]))
    }
  }

  /// Prepares a text. Forms that do not differ share their bytes.
  mutating func add(_ text: String) -> Place {
    var place = Place()
    for form in TextForm.allCases {
      var buffer = TextBuffer()
      buffer.append(text, form)
      put(buffer, form, &place)
    }
    return place
  }

  private mutating func put(_ text: borrowing TextBuffer, _ form: TextForm, _ place: inout Place) {
    let index = form.rawValue
    text.withUnsafeBytes { new in
      if index > 0 {
        let (start, count) = (Int(place.starts[index - 1]), Int(place.counts[index - 1]))
        if count == new.count, bytes[start..<start + count].elementsEqual(new) {
          place.starts[index] = place.starts[index - 1]
          place.counts[index] = place.counts[index - 1]
          return
        }
      }
      // A dictionary, and therefore a call site, has less than 4 GiB.
      place.starts[index] = UInt32(truncatingIfNeeded: bytes.count)
      place.counts[index] = UInt32(truncatingIfNeeded: new.count)
      bytes.append(contentsOf: new)
    }
  }
}

/// A single text that is prepared in every form. Immutable; any thread.
final class PreparedText: Sendable {
  let string: String
  private let texts: StableArray<UInt8>
  private let place: PreparedTexts.Place

  init(_ string: String) {
    self.string = string
    var texts = PreparedTexts()
    place = texts.add(string)
    self.texts = StableArray(texts.bytes)
  }

  var isEmpty: Bool { place.isEmpty }
  var count: Int { place.count }

  /// Appends the text in a form.
  func append(_ form: TextForm, to output: inout TextBuffer) {
    output.append(place.bytes(form, UnsafeRawPointer(texts.elements.baseAddress)))
  }
}
