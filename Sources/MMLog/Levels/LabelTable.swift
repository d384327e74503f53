import CMMLogWriter
import MMLogFormat
import MMLogSystem

/// The labels of a store: their loggers' shared state, and the levels set for them.
///
/// A label's state lives as long as the process, since loggers are plain values that point to it.
///
/// Proof of `@unchecked Sendable`: list and rules are touched under the lock; what a label points
/// to is touched by atomic operations once it is published.
final class LabelTable: @unchecked Sendable {
  typealias Pointer = LabelList.Pointer
  typealias Label = LabelList.Label

  let lock = ForkSafeMutex()
  private var labels = LabelList()
  private let defaultLevel: Level
  /// The rules of the environment.
  private let startRules: [LevelRule]
  /// The rules of the program, the newest last.
  private var rules: [LevelRule] = []
  /// The rules that somebody outside has set.
  private var outsideRules: [LevelOverride] = []
  /// The statements that are turned on, each at the index of its rule.
  private let switches = mmlog_make_switches()
  private var switchRules = [LevelOverride?](repeating: nil, count: Int(MMLOG_SWITCHES))

  init(defaultLevel: Level, rules: [LevelRule]) {
    self.defaultLevel = defaultLevel
    startRules = rules
  }

  /// Returns the state of a label, and makes it if it is new.
  ///
  /// - Parameters:
  ///   - store: The store, in the form in which its labels point to it.
  ///   - session: The session into whose ring a new label is entered; nil if none is open.
  func state(of name: String, store: UnsafeRawPointer, _ session: Session?) -> Pointer {
    lock.withLock {
      if let known = labels[name] { return known }
      let state = Self.makeState(level: defaultLevel)
      add((name, state), store, session)
      return state
    }
  }

  /// Takes over a label that was made without a store, or belonged to one that is closed. A label
  /// of that name may be here already: then there are two, which share its level.
  func adopt(_ label: Label, store: UnsafeRawPointer, _ session: Session?) {
    lock.withLock {
      let known = labels[label.name]
      add(label, store, session)
      if let known { mmlog_share_level(known, label.state) }
    }
  }

  /// Makes state for a label that belongs to no store: the state lets no log call in.
  static func makeState(level: Level) -> Pointer {
    // In one cache line.
    let line = Int(MMLOG_CACHE_LINE)
    let state = UnsafeMutableRawPointer.allocate(byteCount: line, alignment: line)
      .bindMemory(to: mmlog_label.self, capacity: 1)
    state.initialize(
      to: mmlog_label(
        level: UInt32(level.rawValue), own_level: UInt32(level.rawValue), identity: 0,
        gate: closedGate, store: nil, switches: nil, switch_bits: 0, limit: nil, twin: nil))
    return state
  }

  /// Labels beyond have no number, and no entry.
  fileprivate static let largestID: UInt32 = 0xFFFF

  private func add(_ label: Label, _ store: UnsafeRawPointer, _ session: Session?) {
    let id = UInt32(labels.count + 1)
    session?.register(label: label.name, id: id)
    labels.append(label)
    let state = label.state
    // Never changes once the gate lets log calls in, so log calls read it like a constant. If the
    // label's entry comes later, records that have the number already get the name, too.
    state.pointee.identity =
      UInt64(id <= Self.largestID ? id : 0) << RecordLayout.labelShift
    mmlog_set_level(state, UInt32(level(of: label.name).rawValue))
    state.pointee.switches = switches
    override(label)
    if let session { publish(label, id: Int(id), in: session.ring) }
    mmlog_store_store(state, store)
    // Last, because this lets log calls in.
    setGate(of: state, session?.gateOfLabels)
  }

  /// Sets the level of all labels that `pattern` matches, including labels that are made later.
  func setLevel(_ level: Level, for pattern: String) {
    lock.withLock {
      rules.removeAll { $0.isOfLevel && $0.pattern == pattern }
      rules.append(LevelRule(level, for: pattern))
      for label in labels where Glob(pattern).matches(label.name) {
        mmlog_set_level(label.state, UInt32(level.rawValue))
      }
    }
  }

  /// Sets the rate limit of all labels that `pattern` matches, including labels that are made
  /// later.
  func setLimit(_ limit: RateLimit, for pattern: String) {
    lock.withLock {
      rules.removeAll { $0.limit != nil && $0.pattern == pattern }
      rules.append(LevelRule(limit, for: pattern))
      for label in labels where Glob(pattern).matches(label.name) { self.limit(label) }
    }
  }

  /// Sets how often a label's statements may be recorded: as somebody outside says, or else as the
  /// program or the environment says.
  private func limit(_ label: Label) {
    let limit =
      outsideRules.lazy.map(\.rule).limit(of: label.name)
      ?? rules.last { $0.limit != nil && Glob($0.pattern).matches(label.name) }?.limit
      ?? startRules.limit(of: label.name) ?? .none
    mmlog_set_label_limit(label.state, limit.nanoseconds, limit.first, limit.every)
  }

  /// How many records rate limits have suppressed, by label.
  var suppressed: [String: UInt64] {
    lock.withLock {
      let counts = labels.map { ($0.name, mmlog_suppressed($0.state)) }.filter { $0.1 > 0 }
      return Dictionary(counts, uniquingKeysWith: &+)
    }
  }

  // MARK: - Levels from outside

  /// The rules that somebody outside has set, and that hold now.
  var overrides: [LevelOverride] { lock.withLock { outsideRules } }

  /// Sets levels as somebody outside wants them, also those of labels that are made later. A label
  /// that no rule matches has the level that the program has set.
  ///
  /// - Returns: Whether the rules have changed.
  func override(_ new: [LevelOverride]) -> Bool {
    lock.withLock {
      defer { for label in labels { override(label) } }
      if new == outsideRules { return false }
      outsideRules = new
      assignSwitches()
      return true
    }
  }

  private func assignSwitches() {
    let rules = outsideRules.filter { $0.rule.statement != nil }
    for index in switchRules.indices {
      guard let rule = switchRules[index], !rules.contains(rule) else { continue }
      mmlog_clear_switch(switches + index)
      switchRules[index] = nil
    }
    for rule in rules where !switchRules.contains(rule) {
      // A request has no room for more statements than there are switches.
      guard let statement = rule.rule.statement, statement.isValid,
        let free = switchRules.firstIndex(of: nil)
      else { continue }
      switchRules[free] = rule
      let file = Array(statement.file.utf8)
      mmlog_set_switch(
        switches + free, file, UInt32(file.count), statement.line, UInt64(rule.limit))
    }
  }

  /// How many records of a statement have passed since it was turned on; nil if it is not turned
  /// on.
  func passed(_ rule: LevelOverride) -> UInt64? {
    lock.withLock {
      switchRules.firstIndex(of: rule).map { mmlog_switch_passed(switches + $0) }
    }
  }

  private func override(_ label: Label) {
    var bits: UInt32 = 0
    for (index, rule) in switchRules.enumerated() {
      if let rule, Glob(rule.rule.pattern).matches(label.name) { bits |= 1 << UInt32(index) }
    }
    if bits != label.state.pointee.switch_bits { mmlog_set_switch_bits(label.state, bits) }
    limit(label)
    if let level = outsideRules.lazy.map(\.rule).level(of: label.name) {
      mmlog_override_level(label.state, UInt32(level.rawValue))
    } else {
      mmlog_end_override(label.state)
    }
  }

  // MARK: - All labels

  /// Writes the levels into the control page of a ring.
  func publishLevels(in ring: Ring) {
    lock.withLock {
      for (index, label) in labels.enumerated() { publish(label, id: index + 1, in: ring) }
    }
  }

  private func publish(_ label: Label, id: Int, in ring: Ring) {
    ring.publish(
      level: Logger(label.state).level, isOverridden: mmlog_is_overridden(label.state), ofLabel: id)
  }

  /// The level of each label by name.
  var levels: [String: Level] {
    lock.withLock {
      Dictionary(labels.map { ($0.name, Logger($0.state).level) }) { $1 }
    }
  }

  /// The gate that no writer has. It is not nil, because writers without a session have nil.
  private static var closedGate: UnsafeRawPointer? { UnsafeRawPointer(bitPattern: 1) }

  /// Lets log calls in if there is a gate, and keeps them out if it is nil.
  func setGates(_ gate: UnsafeRawPointer?) {
    lock.withLock { setGatesLocked(gate) }
  }

  /// As ``setGates(_:)``, for a caller that has the lock, as in a fork's child.
  func setGatesLocked(_ gate: UnsafeRawPointer?) {
    for label in labels { setGate(of: label.state, gate) }
  }

  private func setGate(of state: Pointer, _ gate: UnsafeRawPointer?) {
    let bits =
      (mmlog_is_switched(state) ? Int(MMLOG_GATE_SWITCHES) : 0)
      + (mmlog_is_limited(state) ? Int(MMLOG_GATE_LIMITS) : 0)
    mmlog_store_gate(state, gate.map { $0 + bits } ?? Self.closedGate)
  }

  /// Enters all labels into the ring of a new session.
  func register(in session: Session) {
    lock.withLock {
      for (index, label) in labels.enumerated() {
        session.register(label: label.name, id: UInt32(index + 1))
      }
    }
  }

  private func level(of name: String) -> Level {
    rules.last { $0.isOfLevel && Glob($0.pattern).matches(name) }?.level
      ?? startRules.level(of: name) ?? defaultLevel
  }
}

extension Session {
  /// A label without an entry in the ring's dictionary.
  typealias MissingLabel = (name: String, id: UInt32)

  /// Enters a label into the ring's dictionary. If there is no room, or if a log call keeps the
  /// dictionary's lock, the drainer does that later, if it can. Does not wait for ever, because the
  /// drainer may need the table's lock meanwhile.
  func register(label: String, id: UInt32) {
    if id > LabelTable.largestID || enter((label, id), waiting: 5_000_000_000) == true { return }
    missingLabels.withLock { $0.append((label, id)) }
  }

  /// Enters the labels that found no room before, in the order in which they were made. Forgets
  /// those for which there never will be room. For the drainer.
  ///
  /// - Returns: False if there is no room for one of them before the dictionary grows.
  func enterMissingLabels() -> Bool {
    missingLabels.withLock { labels in
      var (left, isShort) = ([MissingLabel](), false)
      for (index, label) in labels.enumerated() {
        guard let isEntered = enter(label, waiting: 0) else {
          left += labels[index...]
          break
        }
        if isEntered || !ring.dictionaryMayGrow { continue }
        left.append(label)
        isShort = true
      }
      labels = left
      return !isShort
    }
  }

  /// - Parameter limit: How long to wait for the dictionary's lock at most, in nanoseconds.
  /// - Returns: Whether there was room; nil if the lock cannot be had.
  private func enter(_ label: MissingLabel, waiting limit: Int64) -> Bool? {
    var name = label.name
    guard ring.dictionaryLock.tryLock(atMost: limit) else { return nil }
    defer { ring.dictionaryLock.unlock() }
    return ring.appendEntry(kind: RecordLayout.labelKind, leaving: 0) { writer in
      name.withUTF8 { writer.label(id: label.id, UnsafeRawBufferPointer($0)) }
    }
  }
}
