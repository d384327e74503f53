public import MMLog

extension HTTPLog {
  /// What is recorded of an exchange, and of which exchanges. A record's time and a span's duration
  /// are always there.
  public struct Options: Sendable {
    /// Which end of the connection logs. It decides which statuses are failures.
    public enum Role: Sendable {
      /// Statuses from 400 on are failures.
      case client
      /// Statuses from 500 on are failures.
      case server
    }

    /// Which end of the connection logs. Default: the client.
    public var role = Role.client
    /// The level of an exchange. Default: `info`.
    public var level = Logger.Level.info
    /// Whether a response with some status is a failure: then the exchange's span has failed.
    /// Default: nil, the role decides.
    ///
    /// If spans decide about flight records in the store (`spanCapture`), bodies at a level below
    /// its `archiveLevel` are archived for exchanges that failed, and for no others that ended.
    public var isFailure: (@Sendable (Int) -> Bool)?
    /// How long an exchange may take. If it takes longer, its bodies are archived like those of a
    /// failed exchange. Default: nil, no limit, except one that the store has for all spans.
    public var slowerThan: Duration?
    /// Header fields are recorded only while the logger records this level. Default: `debug`.
    public var headersLevel = Logger.Level.debug
    /// The level of bodies. Default: `trace`. See ``HTTPLog/Exchange/body(of:contentType:)``.
    public var bodyLevel = Logger.Level.trace

    /// What is recorded when an exchange begins. Default: method, URL, header fields, body.
    public var request: Elements = [.method, .url, .headers, .body]
    /// What is recorded when a response ends it. Default: status, size, header fields, body.
    public var response: Elements = [.status, .size, .headers, .body]
    /// What is recorded when an error ends it. Default: the error.
    public var error: Elements = [.error]

    /// What must not be recorded. Default: ``Redactor/standard``.
    public var redactor = Redactor.standard

    /// The hosts whose exchanges are recorded. Case does not count. Default: all.
    public var hosts = Names()
    /// The paths whose exchanges are recorded. Case counts. Default: all.
    public var paths = Names()
    /// Decides whether an exchange is recorded.
    /// ``HTTPLog/begin(method:url:headers:task:file:function:line:column:)`` calls it on its
    /// thread, with values that are not redacted. Default: nil, all are recorded.
    public var predicate: (@Sendable (Request) -> Bool)?
    /// Records one of this many exchanges, the first one included. Default: 1, all. At least 1.
    public var sampling: UInt64 = 1

    /// The maximum bytes of a URL, of a header field's value, and of an error's message that are
    /// recorded: at least 16. Default: 8 KiB.
    public var longestURL = 8 << 10
    /// The maximum number of header fields that are recorded of a message; less than 0 is 0.
    /// Default: 64.
    public var maximumHeaders = 64
    /// The maximum bytes of a body that are recorded, after it is redacted: at least 16. To record
    /// no body, leave `.body` out of ``request`` and ``response``. At most 16 MiB: no value in a
    /// record has more. Default: 16 KiB.
    public var longestBody = 16 << 10
    /// The types of bodies that are recorded as text; of other bodies, size and hash are recorded.
    /// The types are patterns, in which `*` stands for anything, and case does not count. Default:
    /// JSON and forms, whose fields are redacted by their names. In `text/*`, parts in the form of
    /// JSON or of `name=value` are redacted; in XML and in `multipart/form-data`, which `*` names,
    /// too, nothing is.
    public var contentTypes = [
      "application/json", "application/*+json", "application/x-ndjson",
      "application/x-www-form-urlencoded",
    ]

    /// Called with each part of an exchange that was recorded, redacted, on the thread that logs
    /// it. Default: nil.
    public var reporter: (@Sendable (Report) -> Void)?

    /// Options with the defaults.
    public init() {}
  }

  /// What of an exchange is recorded.
  public struct Elements: OptionSet, Sendable {
    /// A bit for each element.
    public let rawValue: UInt16
    /// Takes a bit for each element.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The method, as `http.request.method`.
    public static let method = Elements(rawValue: 1 << 0)
    /// The URL, as `url.full`.
    public static let url = Elements(rawValue: 1 << 1)
    /// The header fields, as `http.request.header.NAME` or `http.response.header.NAME`. See
    /// ``Options/headersLevel``.
    public static let headers = Elements(rawValue: 1 << 2)
    /// The body, in a record of its own. See ``Options/bodyLevel``.
    public static let body = Elements(rawValue: 1 << 3)
    /// The status, as `http.response.status_code`.
    public static let status = Elements(rawValue: 1 << 4)
    /// The body's size in bytes, as `http.response.body.size`.
    public static let size = Elements(rawValue: 1 << 5)
    /// The error, as `error.type` and `error.message`.
    public static let error = Elements(rawValue: 1 << 6)
    /// What the caller says of the task, as `http.task`.
    public static let taskDescription = Elements(rawValue: 1 << 7)
    /// The number of the exchange in its ``HTTPLog``, from 1, as `http.serial`.
    public static let serialNumber = Elements(rawValue: 1 << 8)
    /// All of them.
    public static let all = Elements(rawValue: 1 << 9 - 1)
  }

  /// Names that are allowed and excluded. They are patterns, in which `*` stands for any number of
  /// bytes, and `?` for any one byte.
  public struct Names: Sendable {
    /// The names that are allowed. Empty: any name is allowed.
    public var allowed: [String]
    /// The names that are excluded.
    public var excluded: [String]

    /// Takes names that are allowed and excluded.
    ///
    /// - Parameters:
    ///   - allowed: The names that are allowed. Default: any name is allowed.
    ///   - excluded: The names that are excluded. Default: none.
    public init(allowed: [String] = [], excluded: [String] = []) {
      self.allowed = allowed
      self.excluded = excluded
    }
  }

  /// The beginning of an exchange as it is: not redacted.
  public struct Request: Sendable {
    /// The method.
    public let method: String
    /// The URL.
    public let url: String
  }

  /// A part of an exchange that was recorded, as it was recorded: redacted.
  public struct Report: Sendable {
    /// Which part it is.
    public enum Kind: Sendable {
      /// A request began it.
      case request
      /// A response ended it, with this status.
      case response(status: Int)
      /// An error ended it.
      case error(String)
    }

    /// Which part it is.
    public let kind: Kind
    /// The number of the exchange in its ``HTTPLog``, from 1.
    public let serialNumber: UInt64
    /// The method.
    public let method: String
    /// The URL.
    public let url: String
    /// How long the exchange took; zero for a request.
    public let duration: Duration
    /// Further fields of its record, by the names that readers show: header fields, for example.
    public let fields: Logger.Metadata
  }
}
