package import MMLog

/// What a lane keeps in state slots: the number of its last record, and a text that has the number,
/// too.
package struct LaneState: Sendable {
  private let number: LogStore.StateSlot<Int>
  private let text: LogStore.StateSlot<String>

  package init(_ lane: Int, in store: LogStore) {
    number = store.slot(Self.name(ofNumberOf: lane), of: Int.self)
    text = store.slot(Self.name(ofTextOf: lane), of: String.self)
  }

  /// Call this after the log call, and before the record is acknowledged.
  package func store(_ sequence: Int) {
    number.store(sequence)
    text.store(Self.text(of: sequence))
  }

  package static func name(ofNumberOf lane: Int) -> String { "number \(lane)" }
  package static func name(ofTextOf lane: Int) -> String { "text \(lane)" }

  /// The text for a record's number. Texts of every length come up.
  package static func text(of sequence: Int) -> String {
    let letter = Character(Unicode.Scalar(UInt8(ascii: "a") + UInt8(sequence % 26)))
    return "\(sequence) " + String(repeating: letter, count: sequence % 40)
  }
}
