/// Where a process runs, as its control group says.
package struct ControlGroup: Equatable, Sendable {
  /// The unit that systemd started the process as, such as `orders.service`; nil: none.
  package var unit: String?
  /// The container that it runs in: 64 hexadecimal digits; nil: none, or one that hides its id.
  package var container: String?
  /// The Kubernetes pod that it runs in: a UUID; nil: none.
  package var pod: String?

  package init(unit: String? = nil, container: String? = nil, pod: String? = nil) {
    (self.unit, self.container, self.pod) = (unit, container, pod)
  }

  /// Reads what the kernel says of the calling process: /proc/self/cgroup.
  package static func current() -> ControlGroup {
    ControlGroup(Host.contents(of: "/proc/self/cgroup"))
  }

  /// Reads the text of such a file: lines of `number:controllers:path`. See cgroups(7).
  package init(_ text: String) {
    for line in text.split(separator: "\n") {
      guard
        let path = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
          .dropFirst(2).first
      else { continue }
      for part in path.split(separator: "/") { take(part) }
    }
  }

  /// Takes in one part of a path, such as `docker-0123….scope`. The innermost part counts.
  private mutating func take(_ part: Substring) {
    let words = part.split { "-.:_".contains($0) }
    if let id = words.first(where: { $0.count == 64 && $0.allSatisfy(\.isHexDigit) }) {
      container = id.lowercased()
    } else if part.hasSuffix(".service"), part.utf8.count <= 255 {
      unit = String(part)
    }
    // As systemd writes it, with underscores for hyphens, or as cgroupfs does.
    if let start = part.indices.last(where: { part[$0...].hasPrefix("pod") }) {
      let id = part[start...].dropFirst(3).prefix { $0.isHexDigit || "-_".contains($0) }
      if id.count == 36 { pod = String(id.map { $0 == "_" ? "-" : $0 }) }
    }
  }
}
