import CMMLogWriter
import MMLogFormat
import MMLogStorage
import MMLogSystem

/// The state slots of a store, which the store takes along from one ring to the next.
///
/// Not thread-safe: the store has a lock, which a fork takes, too.
final class StateTable {
  typealias Pointer = UnsafeMutablePointer<mmlog_state>

  private struct Slot {
    let name: String
    let type: ValueType
    let state: Pointer
    /// Its place in a ring's area; a text's copies are in the next places.
    let place: Int
    /// The object that keeps its value, such as a metric; nil if none is known.
    var owner: (any AnyObject & Sendable)?
  }

  private var slots: [Slot] = []
  private var indexes: [String: Int] = [:]
  private var nextPlace = 0
  private var reported: Set<String> = []
  /// The head of a list that is made by hand, because a fork's child walks over it: see
  /// ``StoreRegistry``.
  private var newest: Pointer?

  /// Returns the slot of a name, and makes it if it is new.
  ///
  /// - Parameters:
  ///   - ring: Where the slot gets a place; nil if there is no ring now.
  ///   - problem: Receives why there is no such slot, once for each name. The slot that is returned
  ///     then is nobody's.
  func state(
    _ name: String, _ type: ValueType, in ring: Ring?, problem: (LogError) -> Void
  ) -> Pointer {
    if let index = indexes[name] {
      let slot = slots[index]
      if slot.type == type { return slot.state }
      report(name, "is there with values of another type: \(slot.type)", problem)
      return mmlog_state_of_nobody()
    }
    let isText = type == .string
    let count = isText ? 1 + StateSlotLayout.copies : 1
    guard (1...StateSlotLayout.longestName).contains(name.utf8.count) else {
      report(name, "has a name that is not 1 to \(StateSlotLayout.longestName) bytes", problem)
      return mmlog_state_of_nobody()
    }
    guard nextPlace + count <= StateSlotLayout.count,
      let state = mmlog_make_state(newest, isText, Self.head(type, name))
    else {
      report(name, "has no place: all \(StateSlotLayout.count) are taken", problem)
      return mmlog_state_of_nobody()
    }
    newest = state
    let slot = Slot(name: name, type: type, state: state, place: nextPlace)
    nextPlace += count
    indexes[name] = slots.count
    slots.append(slot)
    if let ring { enter(slot, into: ring) }
    return state
  }

  /// Returns the object that keeps the value of the slot of a name, made by `make` if there is none
  /// yet.
  ///
  /// - Returns: Nil, which is reported, if there is no such slot, or the object is of another type.
  func owner<Owner: AnyObject & Sendable>(
    _ name: String, _ type: ValueType, in ring: Ring?, problem: (LogError) -> Void,
    _ make: (Pointer) -> Owner
  ) -> Owner? {
    let state = state(name, type, in: ring, problem: problem)
    guard state != mmlog_state_of_nobody(), let index = indexes[name] else { return nil }
    guard let present = slots[index].owner else {
      let owner = make(state)
      slots[index].owner = owner
      return owner
    }
    if let owner = present as? Owner { return owner }
    report(name, "is there for values of another kind", problem)
    return nil
  }

  private static func head(_ type: ValueType, _ name: String) -> UInt64 {
    var name = name
    return name.withUTF8 {
      StateSlots.head(type: type.rawValue, name: UnsafeRawBufferPointer($0))
    }
  }

  private func report(_ name: String, _ what: String, _ problem: (LogError) -> Void) {
    // Names may come from anybody.
    let isCut = name.utf8.count > StateSlotLayout.longestName
    let name = isCut ? "\(name.prefix(StateSlotLayout.longestName))…" : name
    guard reported.count < 1000, reported.insert(name).inserted else { return }
    problem(
      LogError(
        .invalidConfiguration,
        "The state slot '\(name)' \(what). What is stored there goes nowhere."))
  }

  /// Makes values go into a ring from now on, and takes the present values along.
  func enter(into ring: Ring) { for slot in slots { enter(slot, into: ring) } }

  /// Makes values go nowhere: the ring will be unmapped.
  func leaveRing() {
    for slot in slots { mmlog_move_state(slot.state, mmlog_state_own(slot.state)) }
  }

  /// Forgets the parent's values in a fork's child, whose ring is not made yet.
  func detachInChild() {
    var next = newest
    while let state = next {
      mmlog_forget_state(state)
      next = state.pointee.next
    }
  }

  private func enter(_ slot: Slot, into ring: Ring) {
    let place = ring.useStatePlace(slot.place)
    // Before the value: a reader that sees the value sees the name, too.
    var name = slot.name
    name.withUTF8 { name in
      guard let start = name.baseAddress else { return }
      (place + StateSlotLayout.name).copyMemory(from: start, byteCount: name.count)
    }
    let isText = slot.state.pointee.is_text
    mmlog_move_state(
      slot.state, place.word(isText ? StateSlotLayout.size : StateSlotLayout.value))
  }
}

extension UnsafeMutableRawPointer {
  fileprivate func word(_ offset: Int) -> UnsafeMutablePointer<UInt64> {
    (self + offset).assumingMemoryBound(to: UInt64.self)
  }
}

extension StoreCore {
  /// The state slot of a name.
  func state(_ name: String, _ type: ValueType) -> StateTable.Pointer {
    lock.withLock {
      states.state(name, type, in: open?.session.ring) { events.send(.failed(error: $0)) }
    }
  }

  /// The object that keeps the value of the state slot of a name.
  func stateOwner<Owner: AnyObject & Sendable>(
    _ name: String, _ type: ValueType, _ make: (StateTable.Pointer) -> Owner
  ) -> Owner? {
    lock.withLock {
      states.owner(
        name, type, in: open?.session.ring, problem: { events.send(.failed(error: $0)) }, make)
    }
  }
}
