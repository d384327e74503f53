import MMLogCrypto
import MMLogFormat
import MMLogStorage
import MMLogSystem

/// Where a store's files are. Makes, opens and recovers the store's directories.
struct StoreLocation: Sendable {
  /// The directory of the archives, as an absolute path.
  let directory: String
  /// The directory of the rings, as an absolute path: the same unless the configuration has
  /// another.
  let ringDirectory: String
  /// The store's name.
  let name: String
  private let allowsUntrusted: Bool
  private let archiveSettings: ArchiveSeries.Settings
  /// What access files are made with.
  private let newFiles: FileAccess

  /// - Throws: if the path or the name is not valid.
  init(
    directory: String, name: String, _ configuration: LogStore.Configuration
  ) throws(LogError) {
    if let problem = FileNames.problem(withStoreName: name) {
      throw LogError(
        .invalidConfiguration,
        "The store's name \"\(name)\" \(problem). Choose 1 to 100 bytes without slashes and zero "
          + "bytes; control characters, % and a dot at the beginning are written as three bytes "
          + "each.")
    }
    guard !directory.isEmpty else {
      throw LogError(.invalidConfiguration, "The store's directory is an empty path: give one.")
    }
    self.name = name
    self.directory = try absolutePath(directory)
    ringDirectory = try configuration.ringDirectory.map(absolutePath) ?? self.directory
    allowsUntrusted = configuration.allowsUntrustedDirectory
    archiveSettings = configuration.archiveSettings
    newFiles = try configuration.checkedFileAccess()
  }

  /// The directory of a store that is given none; see ``LogStore/init(name:configuration:)``.
  ///
  /// - Parameters:
  ///   - isRoot: Whether the process has root's rights.
  ///   - variable: Returns a variable of the environment.
  static func usualDirectory(
    of name: String, isRoot: Bool, _ variable: (String) -> String?
  ) -> String {
    for list in ["LOGS_DIRECTORY", "STATE_DIRECTORY"] {
      if let first = variable(list)?.split(separator: ":").first { return String(first) }
    }
    // These names of a store are no names of a directory.
    let name = name == "." || name == ".." ? FileNames.escaped(name) : name
    if isRoot { return "/var/log/\(name)" }
    // The XDG Base Directory Specification says to ignore a relative path.
    if let state = variable("XDG_STATE_HOME"), state.hasPrefix("/") { return "\(state)/\(name)" }
    guard let home = variable("HOME"), home.hasPrefix("/") else { return "/var/log/\(name)" }
    return "\(home)/.local/state/\(name)"
  }

  /// Makes the directories that do not exist.
  func makeDirectories() throws(LogError) {
    try explaining("Making the store's directory failed") { () throws(SystemError) in
      try Directory.create(directory, newFiles: newFiles)
      try Directory.create(ringDirectory, newFiles: newFiles)
    }
    if !archiveSettings.recipients.isEmpty || archiveSettings.isChained { try prepareLibrary() }
  }

  /// Makes libcrypto look up its algorithms now, because a child of fork must not wait for a lock.
  private func prepareLibrary() throws(LogError) {
    do throws(CryptoError) { try Cryptography.prepare() } catch {
      throw LogError(
        .unsupported, "The store's archives cannot be encrypted or chained: \(error).",
        path: directory, cause: error)
    }
  }

  /// Opens the directory of the archives.
  func openDirectory() throws(LogError) -> Directory { try open(directory) }

  /// Opens the directory of the rings.
  func openRingDirectory() throws(LogError) -> Directory { try open(ringDirectory) }

  private func open(_ path: String) throws(LogError) -> Directory {
    do {
      let directory = try Directory.open(path, newFiles: newFiles)
      if let problem = try problem(of: directory) { throw problem }
      return directory
    } catch {
      throw LogError(error, while: "Opening the store's directory failed", path: path)
    }
  }

  /// Why a directory may not have the store's files; nil: it may.
  private func problem(of directory: borrowing Directory) throws(SystemError) -> LogError? {
    if allowsUntrusted { return nil }
    guard let problem = try directory.whyNotToTrust() else { return nil }
    return LogError(
      .untrustedDirectory,
      "The store's directory \(directory.path) \(problem)\(LogError.allowingAdvice)",
      path: directory.path)
  }

  /// The catalog of the archives.
  ///
  /// - Parameter events: Receives a signal when the archives' sizes have changed.
  func makeCatalog(_ events: EventHub) -> Catalog {
    Catalog(
      of: directory, store: name, newFiles: newFiles,
      totalsChanged: { events.sizeSignals.send() })
  }

  /// The archives of a new session, which has none yet.
  func makeArchives(_ identity: SessionIdentity) throws(LogError) -> ArchiveSeries {
    let series = ArchiveSeries(in: try openDirectory(), identity, archiveSettings)
    series.whyNotToMove = { (directory) throws(SystemError) in try problem(of: directory) }
    return series
  }

  /// Recovers what dead processes left.
  ///
  /// - Parameter goesOn: Whether to recover another ring.
  func recover(while goesOn: () -> Bool) -> StartRecovery.Outcome {
    var outcome = StartRecovery.Outcome()
    do throws(LogError) {
      outcome.sessions = Recovery.recoverAll(
        of: name, ringDirectory: try openRingDirectory(), archiveDirectory: try openDirectory(),
        archiveSettings, while: goesOn
      ) { outcome.problems.append($0) }
    } catch {
      outcome.problems.append(error)
    }
    return outcome
  }

  /// Seals archives that dead processes left and whose rings are gone.
  ///
  /// - Parameter goesOn: Whether to seal another archive.
  func sealRinglessArchives(
    while goesOn: () -> Bool, sealed: (ArchiveInfo) -> Void, problem: (LogError) -> Void
  ) {
    do throws(LogError) {
      RinglessArchives.seal(
        of: name, in: try openDirectory(), rings: try openRingDirectory(), archiveSettings,
        while: goesOn, sealed: sealed, problem: problem)
    } catch {
      problem(error)
    }
  }

  /// The identity of a session that begins now.
  func makeIdentity() throws(LogError) -> SessionIdentity {
    var random: (UInt64, UInt64) = (0, 0)
    try explaining("Making a session's identity failed") { () throws(SystemError) in
      try withUnsafeMutableBytes(of: &random) { (bytes) throws(SystemError) in
        try Random.fill(bytes)
      }
    }
    return SessionIdentity(
      session: SessionID(random: random), bootID: Host.bootID(),
      processID: UInt32(bitPattern: CurrentProcess.id), startTime: .now,
      processName: CurrentProcess.name, hostName: Host.name(), timeZone: Host.timeZoneName(),
      storeName: name)
  }
}

extension LogError {
  /// The end of the message about a trait that is missing. A program whose users do not build it
  /// leaves this out.
  package static let encryptionAdvice =
    ": add traits: [\"Encryption\"] to the package's dependency on mmlog, and install libssl-dev"
  /// The end of the message about an untrusted directory. A program whose users do not have the
  /// setting leaves this out.
  package static let allowingAdvice = "; or allow it with the setting allowsUntrustedDirectory."
}
