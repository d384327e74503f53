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
  /// `mmlogctl status` shows the value as long as the process exists, stopped or not, and
  /// `mmlog-decode crash` shows which value the slot had when the process died. A store that is
  /// closed leaves no value.
  ///
  /// **The value is public**: whoever may read the log can read it, and nothing hides it. Never
  /// store a secret, or anything about a person.
  ///
  /// A name stands for the same place each time. The first call decides the type. There are 128
  /// places of 64 bytes; a text takes three. If no place is left, or if the name is empty, is
  /// longer than 48 bytes of UTF-8, or was given to another type, the store reports that once by
  /// ``Event/failed(error:)``, and stored values go nowhere.
  ///
  /// A slot stays valid for as long as the process lives. After `LogStore.close()`, nobody sees
  /// stored values. In a child of `fork()`, slots begin anew, without the parent's values, and are
  /// the child's own: they are in the child's ring from its first record on.
  ///
  /// - Parameters:
  ///   - name: Names the place, such as `queue.depth`: 1 to 48 bytes.
  ///   - type: The type of the value: an integer of up to 64 bits, `Double`, `Float`, `Bool` or
  ///     `String`.
  /// - Returns: The slot. Readers do not show the slot until a value is stored. Any thread may call
  ///   this, but no signal handler may; takes a lock.
  /// - Complexity: O(1). Keep the slot, do not ask for it each time.
  public func slot<Value: StateSlotValue>(
    _ name: String, of type: Value.Type
  ) -> StateSlot<Value> {
    StateSlot(core.state(name, Value.slotType))
  }

  /// Returns the object that keeps the value of a slot and stores it there: the same object each
  /// time, whoever asks.
  ///
  /// - Parameters:
  ///   - name: The slot's.
  ///   - make: Makes the object the first time, under the lock of the store's slots.
  /// - Returns: Nil if `slot(_:of:)` would return a slot that is kept nowhere, or if the object is
  ///   of another type; the store reports that in the same way.
  package func slotOwner<Value: StateSlotValue, Owner: AnyObject & Sendable>(
    _ name: String, _ make: (StateSlot<Value>) -> Owner
  ) -> Owner? {
    core.stateOwner(name, Value.slotType) { make(StateSlot($0)) }
  }

  /// A named place for a value that is overwritten: see `LogStore.slot(_:of:)`.
  ///
  /// A slot is a value: copy it, pass it, keep it. All slots of one name are the same place.
  @frozen
  public struct StateSlot<Value: StateSlotValue>: @unchecked Sendable {
    // Sendable: what the slot points to is immortal, and touched by atomic operations, or under a
    // lock.
    @usableFromInline let place: StateSlotPlace

    init(_ state: StateTable.Pointer) { place = StateSlotPlace(state) }

    /// A slot whose values go nowhere.
    package static var nowhere: StateSlot { StateSlot(mmlog_state_of_nobody()) }

    /// The state that all slots of the name share, as C has it.
    package var state: UnsafeMutablePointer<mmlog_state> { place.state }

    /// Overwrites the value. When this method returns, the value survives the process.
    ///
    /// A number or a Boolean is stored by one aligned store of the processor, and costs a
    /// nanosecond. A text has two copies with checksums, so that whenever the process dies, one of
    /// them is whole: the new text or the text before it. The slot keeps up to 56 bytes of UTF-8 of
    /// a text, cut at a character's edge.
    ///
    /// Any thread may store; the value that is stored last counts. A signal handler may store a
    /// number, too. A store of a text waits for another thread that is just storing to the slot,
    /// some milliseconds at most; after that, it stores nothing.
    ///
    /// No lock, no allocation, no system call, except for a text that waits. Now and then, when the
    /// kernel has written the ring to the disk, a store takes a page fault.
    ///
    /// - Parameter value: The value.
    /// - Complexity: O(1).
    @inlinable @inline(__always)
    public func store(_ value: Value) { value.store(in: place) }
  }
}
