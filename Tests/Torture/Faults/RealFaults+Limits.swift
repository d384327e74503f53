import TestSupport
import Glibc
import MMLog
import MMLogStorage
import MMLogSystem

extension RealFault {
  static let ofLimits = [
    RealFault("limit-of-file-sizes") { place in
      try withLimit(place, .fileSize, 6000)
    },
    RealFault("limit-of-open-files") { place in
      // Files that are open stay open.
      try withLimit(place, .openFiles, 3)
    },
    RealFault("limit-of-memory") { place in
      var configuration = LogStore.Configuration()
      configuration.ringSize = 512 << 20
      let limit = Limit(.memory, try OpenThings.memory() + (128 << 20))
      defer { limit.lift() }
      do throws(LogError) {
        _ = try LogStore(directory: "\(place)/store", name: "large", configuration: configuration)
        return ["a ring is mapped that is larger than the limit"]
      } catch {
        let isClear = error.systemErrorNumber == ENOMEM && error.path.contains(place)
        let left = (try? Folder.names("\(place)/store")) ?? []
        return (isClear ? [] : ["not a clear error: \(error)"])
          + left.map { "\($0) is left behind" }
      }
    },
    RealFault("limit-while-opening") { place in
      var problems: [String] = []
      for (kind, maximum) in [(Limit.Kind.fileSize, 100_000), (.openFiles, 3)] {
        let limit = Limit(kind, maximum)
        var message = "nothing"
        do throws(LogError) {
          _ = try LogStore(
            directory: "\(place)/store", name: "service", configuration: Service.configuration)
        } catch {
          message = error.message
        }
        limit.lift()
        if !message.contains("RLIMIT_") { problems.append("not a clear error: \(message)") }
        let left = (try? Folder.names("\(place)/store")) ?? []
        problems += left.map { "\($0) is left behind" }
      }
      return problems
    },
  ]

  private static func withLimit(_ place: String, _ kind: Limit.Kind, _ maximum: Int) throws
    -> [String]
  {
    var problems: [String] = []
    let service = try Service(in: "\(place)/store")
    for _ in 0..<2 {
      service.logOn(100)
      let limit = Limit(kind, maximum)
      service.waitForFailure(&problems)
      limit.lift()
      service.waitForResumption(&problems)
    }
    service.logOn(50)
    if let error = service.end() { problems.append("closing fails: \(error)") }
    return problems + service.problems()
  }
}

/// A limit of this process, until it is lifted: setrlimit(2).
private struct Limit {
  enum Kind {
    case fileSize, openFiles, memory
  }

  private let resource: __rlimit_resource_t
  private let before: rlimit

  init(_ kind: Kind, _ maximum: Int) {
    let number =
      switch kind {
      case .fileSize: RLIMIT_FSIZE
      case .openFiles: RLIMIT_NOFILE
      case .memory: RLIMIT_AS
      }
    resource = __rlimit_resource_t(number.rawValue)
    var limit = rlimit()
    getrlimit(resource, &limit)
    before = limit
    limit.rlim_cur = rlim_t(maximum)
    setrlimit(resource, &limit)
  }

  func lift() {
    var limit = before
    setrlimit(resource, &limit)
  }
}
