package import CMMLogWriter

extension LogStore {
  /// A named place in the ring for a value that the program overwrites: how long a queue is, which
  /// phase a job is in. It is no record, and has no history.
  ///
  /// ```swift
  /// let depth = store.slot("queue.depth", of: Int.self)
  /// let phase = store.slot("phase", of: String.self)
  ///
  /// depth.store(queue.count)
  /// phase.store("loading \(order.id)")
  /// ```
  ///
  /// `mmlogctl status` shows what is in it while the process runs, stopped or not, and
  /// `mmlog-decode crash` what was in it when the process died. A store that is closed leaves
  /// nothing of it.
  ///
  /// **It is public**: whoever may read the log reads it, and nothing hides it. Never store a
  /// secret, or what says something of a person.
  ///
  /// A name stands for the same place each time. The first call decides of which type it is. There
  /// are 128 places of 64 bytes; a text takes three. When there is none left, when the name is
  /// empty or longer than 48 bytes of UTF-8, or was given to another type, the store says so once
  /// by ``Event/failed(error:)``, and what is stored goes nowhere.
  ///
  /// A slot stays valid for as long as the process. After `LogStore.close()` nobody sees what is
  /// stored. In a child of `fork()`, slots begin anew, with no value of the parent's, and are the
  /// child's own: they are in its ring from its first record on.
  ///
  /// - Parameters:
  ///   - name: Names the place, such as `queue.depth`: 1 to 48 bytes.
  ///   - type: Of its value: an integer of up to 64 bits, `Double`, `Float`, `Bool` or `String`.
  /// - Returns: The place. Readers do not show it until a value is stored. Any thread; takes a
  ///   lock. Not for signal handlers.
  /// - Complexity: O(1). Keep the slot, do not ask for it each time.
  public func slot<Value: StateSlotValue>(
    _ name: String, of type: Value.Type
  ) -> StateSlot<Value> {
    StateSlot(core.state(name, Value.slotType))
  }

  /// What keeps the value of a slot and stores it there: the same each time, whoever asks.
  ///
  /// - Parameters:
  ///   - name: The slot's.
  ///   - make: Makes it the first time, under the lock of the store's slots.
  /// - Returns: Nil where `slot(_:of:)` would give a slot that is kept nowhere, and where what
  ///   keeps the value is of another type; the store says so in the same way.
  package func slotOwner<Value: StateSlotValue, Owner: AnyObject & Sendable>(
    _ name: String, _ make: (StateSlot<Value>) -> Owner
  ) -> Owner? {
    core.stateOwner(name, Value.slotType) { make(StateSlot($0)) }
  }

  /// A named place for a value that is overwritten: see `LogStore.slot(_:of:)`.
  ///
  /// A value: copy it, pass it, keep it; all of one name are the same place.
  @frozen
  public struct StateSlot<Value: StateSlotValue>: @unchecked Sendable {
    // Sendable: what it points to is immortal, and touched by atomic operations, or under a lock.
    @usableFromInline let place: StateSlotPlace

    init(_ state: StateTable.Pointer) { place = StateSlotPlace(state) }

    /// A place of which nothing is kept.
    package static var nowhere: StateSlot { StateSlot(mmlog_state_of_nobody()) }

    /// What all slots of the name share, as C has it.
    package var state: UnsafeMutablePointer<mmlog_state> { place.state }

    /// Overwrites the value. When it returns, the value survives the process.
    ///
    /// A number or a Boolean is stored by one aligned store of the processor, and costs a
    /// nanosecond. A text has two copies with checksums, so that whenever the process dies, one is
    /// whole: this one or the one before it. Of a text, 56 bytes of UTF-8 are kept, cut at a
    /// character's edge.
    ///
    /// Any thread; what is stored last counts. A number may be stored in a signal handler, too. A
    /// text waits for another thread that is just storing there, some milliseconds at most; then it
    /// stores nothing.
    ///
    /// No lock, no allocation, no system call, but for a text that waits. Now and then, when the
    /// kernel has written the ring to the disk, a store takes a page fault.
    ///
    /// - Parameter value: The value.
    /// - Complexity: O(1).
    @inlinable @inline(__always)
    public func store(_ value: Value) { value.store(in: place) }
  }
}
