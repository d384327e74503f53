import TestSupport
import CrashRecords
import MMLogFormat
import MMLogReader

/// A whole directory, and all that is known of it: what was logged, by whom, and where each record
/// lies.
struct Scene {
  /// What identifies a record: its lane and its number there.
  struct Key: Hashable {
    let lane: Int
    let sequence: Int
  }

  /// A record that reading the whole directory gives.
  struct Record {
    let record: LoggedRecord
    let time: Timestamp
    /// Which files have it, by their numbers.
    var files: [Int] = []
    /// Where it lies in a ring, if that alone has it: each of its fragments, and its segments'
    /// headers.
    var places: [Range<Int>] = []
    var headers: [Range<Int>] = []
  }

  let files: [LogFile]
  let relics: [LogFile]
  let endings: [SessionID: SessionEnding]
  /// What is reported of the whole directory: archives that limits have deleted.
  let reports: Reports
  let folder: String
  /// The session of each lane.
  let sessions: [Int: SessionID]
  /// The lanes whose archives a limit may have deleted.
  let limitedLanes: Set<Int>
  private(set) var records: [Record] = []
  private(set) var numbers: [Key: Int] = [:]
  private let lanes: [Int: Lane]

  /// Makes a scene.
  ///
  /// - Parameter path: A folder. The files are put into a folder of their own in it.
  /// - Throws: ``Failure`` if reading the whole directory does not give what was logged, or reports
  ///   anything.
  init(seed: UInt64, in path: String) throws {
    let builder = try SceneBuilder(seed: seed, in: path)
    folder = "\(path)/whole"
    files = builder.files.sorted { $0.key < $1.key }.map { LogFile($0.key, $0.value) }
    relics = builder.relics.map { LogFile($0.name, $0.bytes) }
    lanes = builder.lanes
    try Folder.make(folder)
    for file in files { try Folder.write(file.bytes, to: "\(folder)/\(file.name)") }
    let whole = FoundLog([folder])
    (endings, reports) = (whole.endings, whole.reports)
    (sessions, limitedLanes) = (builder.sessions, builder.limitedLanes)
    for (record, time) in whole.records {
      guard let key = Self.key(of: record) else { throw Failure("a record that nobody logged") }
      numbers[key] = records.count
      records.append(Record(record: record, time: time))
    }
    try check(whole, builder)
    try findPlaces()
  }

  /// Lane and number of a record; nil if its message is not one of a lane's.
  static func key(of record: LoggedRecord) -> Key? {
    Lane.position(of: record.message).map { Key(lane: $0.lane, sequence: $0.sequence) }
  }

  /// Whether a session logged such a record, whatever has become of it.
  func wasLogged(_ record: LoggedRecord, as key: Key) -> Bool {
    sessions[key.lane] == record.session
      && lanes[key.lane]?.logged(record.message, as: key.sequence) == true
  }

  /// Whether the whole directory lacks an archive of a session.
  func hasDeletedArchive(_ session: SessionID) -> Bool {
    let numbers = files.flatMap(\.sections).filter { $0.session == session && $0.number > 0 }
      .map(\.number)
    return (numbers.max() ?? 0) > numbers.count
  }

  // MARK: - Making

  /// Checks that everything that was logged is there, except flight records and what limits may
  /// have deleted.
  private func check(_ whole: FoundLog, _ builder: SceneBuilder) throws {
    if whole.reports.isSevere, let report = whole.reports.texts.first {
      throw Failure("reading the whole directory reports: \(report)")
    }
    guard records.count == numbers.count else { throw Failure("a record is there twice") }
    for (key, number) in numbers where !wasLogged(records[number].record, as: key) {
      throw Failure("record \(key.sequence) of lane \(key.lane) is not as it was logged")
    }
    for (lane, count) in builder.logged {
      let there = Set(numbers.keys.filter { $0.lane == lane }.map(\.sequence))
      let mayForget = builder.flightLanes.contains(lane)
      let isThere = { (sequence: Int) in
        there.contains(sequence) || mayForget && sequence % 4 == 2
      }
      if builder.limitedLanes.contains(lane) { continue }
      if let missing = (1..<count + 1).first(where: { !isThere($0) }) {
        throw Failure("record \(missing) of \(count) of lane \(lane) is not there")
      }
    }
  }

  private mutating func findPlaces() throws {
    for (index, file) in files.enumerated() {
      for (record, _) in FoundLog(["\(folder)/\(file.name)"]).records {
        guard let key = Self.key(of: record), let number = numbers[key] else { continue }
        records[number].files.append(index)
      }
      if file.isRing { try findPlaces(inRing: file) }
    }
  }

  private mutating func findPlaces(inRing file: LogFile) throws {
    let session = file.sections[0].session
    var ofTicks: [UInt64: Int] = [:]
    for (number, record) in records.enumerated() where record.record.session == session {
      ofTicks[record.record.ticks] = number
    }
    for part in try Part.ofRing(file.bytes, ofTicks) {
      if part.one.count == 1 {
        records[part.one[0]].places.append(part.range)
      } else if part.range.count == SegmentLayout.size {
        for number in Set(part.several) { records[number].headers.append(part.range) }
      }
    }
  }
}
