import CommandLineTool
import LogCommands
import MMLogDestinations
import MMLogReader
import MMLogShipping
import MMLogStorage
import MMLogSystem

/// What is shipped where: each directory to each of its targets.
struct Plan {
  /// A directory and one of its targets.
  struct Route {
    let directory: String
    let rings: String?
    /// Who decrypts the directory's records.
    let identities: LogIdentities
    var target: Target

    /// Identifies the directory, however its path is spelled.
    fileprivate var place: String { Plan.place(directory) }
  }

  private(set) var routes: [Route] = []

  /// What the command line says: a configuration file, or targets and directories.
  init(_ arguments: Arguments) throws {
    let identities = try arguments.identities()
    if let path = arguments.value(of: .config) {
      guard ![Option.to, .set, .named, .ringDirectory].contains(where: arguments.isSet) else {
        throw UsageError(
          "--config replaces --to, --set, --as and --ring-directory; leave these out")
      }
      try add(ConfigurationFile(path: path), only: arguments.operands, identities)
      try checkNames()
      try checkArchiveTargets()
      return
    }
    let directories = try arguments.directories()
    for target in try Self.targets(arguments) {
      routes += directories.map {
        Route(
          directory: $0, rings: arguments.value(of: .ringDirectory), identities: identities,
          target: target)
      }
    }
    do throws(SettingError) {
      try checkNames()
      try checkArchiveTargets()
    } catch {
      throw UsageError("\(error)")
    }
  }

  /// Throws if two destinations of a directory have one name. A cursor has the name of its
  /// destination: each of the two would pass over what the other was sent.
  private func checkNames() throws(SettingError) {
    var seen: Set<[String]> = []
    for route in routes where !seen.insert([route.place, route.target.name]).inserted {
      throw SettingError(
        "'\(route.directory)' is sent twice to a destination '\(route.target.name)', whose name "
          + "its cursor has: name each directory and destination once, and use --config to give "
          + "names to destinations of one host")
    }
  }

  /// Throws if a directory has two destinations of whole archives. An archive is marked as uploaded
  /// once, whatever destination has it: each of the two would get a part of the archives.
  private func checkArchiveTargets() throws(SettingError) {
    var names: [String: String] = [:]
    for route in routes where route.target.settings.url.takesArchives {
      if let other = names.updateValue(route.target.name, forKey: route.place) {
        throw SettingError(
          "'\(route.directory)' has two destinations of whole archives, '\(other)' and "
            + "'\(route.target.name)': an archive is sent to one; have that one copy it, or send "
            + "records to the other")
      }
    }
  }

  private static func targets(_ arguments: Arguments) throws -> [Target] {
    let urls = arguments.values(of: .to)
    guard !urls.isEmpty else {
      throw UsageError("a destination is missing; add '--to URL', or '--config FILE'")
    }
    let name = arguments.value(of: .named)
    guard urls.count == 1 || name == nil else {
      throw UsageError("--as names one destination, and there are \(urls.count)")
    }
    return try urls.map { url in
      do throws(SettingError) {
        var target = try Target(name: name, url: url)
        for setting in arguments.values(of: .set) {
          let parts = setting.split(separator: "=", maxSplits: 1)
          guard parts.count == 2 else {
            throw SettingError("write '--set NAME=VALUE'")
          }
          try target.set(String(parts[0]), String(parts[1]))
        }
        _ = try target.settings.destination()
        return target
      } catch {
        throw UsageError("\(error)")
      }
    }
  }

  private mutating func add(
    _ file: ConfigurationFile, only directories: [String], _ identities: LogIdentities
  ) throws(SettingError) {
    let places = directories.map(Self.place)
    var targets: [String: Target] = [:]
    for section in file.sections where section.kind == "destination" {
      guard targets[section.name] == nil else {
        throw section.place.error("there are two destinations '\(section.name)'")
      }
      targets[section.name] = try Self.target(section)
    }
    for section in file.sections where section.kind == "directory" {
      if !places.isEmpty, !places.contains(Self.place(section.name)) { continue }
      try add(section, targets, identities)
    }
    guard !routes.isEmpty else {
      throw SettingError("the configuration file has no [directory PATH] with a destination")
    }
  }

  private static func target(
    _ section: ConfigurationFile.Section
  ) throws(SettingError) -> Target {
    let urls = section.entries.filter { $0.name == "url" }
    guard let url = urls.first else {
      throw section.place.error("the destination '\(section.name)' has no url")
    }
    if urls.count > 1 {
      throw urls[1].place.error(
        "the destination '\(section.name)' has a url already; make another [destination NAME]")
    }
    var target: Target
    do throws(SettingError) { target = try Target(name: section.name, url: url.value) } catch {
      throw url.place.error("\(error)")
    }
    for entry in section.entries where entry.name != "url" {
      do throws(SettingError) { try target.set(entry.name, entry.value) } catch {
        throw entry.place.error("\(error)")
      }
    }
    do throws(SettingError) { _ = try target.settings.destination() } catch {
      throw section.place.error("\(error)")
    }
    return target
  }

  private mutating func add(
    _ section: ConfigurationFile.Section, _ targets: [String: Target], _ others: LogIdentities
  ) throws(SettingError) {
    var (names, rings, identities) = ([ConfigurationFile.Entry](), nil as String?, others)
    for entry in section.entries {
      switch entry.name {
      case "to": names.append(entry)
      case "ring-directory": rings = entry.value
      case "identity":
        do throws(LogError) {
          let own = try LogIdentities(files: [entry.value])
          if let warning = LogIdentities.warning(ofFile: entry.value) { Command.complain(warning) }
          identities = LogIdentities(identities.all + own.all)
        } catch {
          throw entry.place.error("\(error)")
        }
      default:
        throw entry.place.error(
          "a directory has no setting '\(entry.name)'; it has 'to', 'ring-directory' and "
            + "'identity'")
      }
    }
    guard !names.isEmpty else {
      throw section.place.error("the directory has no destination; add 'to = NAME'")
    }
    for entry in names {
      for name in entry.value.split(whereSeparator: { $0 == " " || $0 == "," }) {
        guard let target = targets[String(name)] else {
          throw entry.place.error("there is no [destination \(name)]")
        }
        routes.append(
          Route(
            directory: section.name, rings: rings, identities: identities, target: target))
      }
    }
  }

  /// Returns a name for a directory, whatever path leads to it. For a directory that is not there,
  /// it is the path without redundant slashes.
  private static func place(_ path: String) -> String {
    if let status = try? File.status(ofPath: path) { return "\(status.identity)" }
    return (path.hasPrefix("/") ? "/" : "") + path.split(separator: "/").joined(separator: "/")
  }
}
