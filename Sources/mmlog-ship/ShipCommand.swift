import CommandLineTool
import LogCommands
import MMLogDestinations

extension Command {
  static let ship = Command(
    name: "mmlog-ship",
    description: [
      """
      Sends what services have logged with mmlog to other systems: each record once where the \
      receiver can drop repeats, and at least once everywhere.
      """,
      """
      It needs only the directories that services log into, also after the services have died. \
      In these directories, it notes what a destination has acknowledged, and keeps records that a \
      destination has refused. The user that runs it must be able to write there.
      """,
      """
      A destination is a URL. With https in place of http, certificates are verified. Set its \
      settings with --set, or in [destination NAME] of a configuration file. Secrets come only \
      from files, which are read again at each use.
      """,
    ],
    commands: [.send, .status, .retry, .reconcile, .schema],
    tables: [
      ("Destinations", DestinationURL.forms.map { ($0.0, sentence($0.1)) }), ("Settings", settings),
    ],
    examples: [
      Example(
        "Send a service's log to a collector, for as long as it runs",
        "mmlog-ship --to otlp+http://localhost:4318 /var/log/orders"),
      Example(
        "Send what a dead service has left, and end",
        "mmlog-ship --orphans --to otlp+http://localhost:4318 /var/log/orders"),
      Example("As a configuration file says", "mmlog-ship --config /etc/mmlog/ship.conf"),
      Example(
        "Would it work?", "mmlog-ship --check --config /etc/mmlog/ship.conf"),
      Example(
        "Make ClickHouse's table",
        "mmlog-ship schema clickhouse | curl --data-binary @- http://localhost:8123/"),
    ],
    exitStatuses: [
      (
        .success,
        "All was sent; or the program, which would have gone on for ever, was asked to end."
      ),
      (
        .corruptionOrLoss,
        "Something was not sent: refused by a destination, deleted or corrupted before, in a file "
          + "that cannot be read or recovered, or a signal came before the end of --once and the "
          + "like; or another error."
      ),
      (.usage, "The command line or the configuration file is wrong."),
      (.nothingReadable, "None of the directories could be read."),
    ])

  private static let settings =
    Target.shippingSettings.map { setting in
      let repeats = setting.isRepeatable ? " May be repeated." : ""
      let kinds = setting.isOfArchives ? "" : " (Not of s3, put.)"
      return ("\(setting.name)=\(setting.placeholder)", setting.help + repeats + kinds)
    }
    + DestinationSettings.all.map { setting in
      let repeats = setting.isRepeatable ? " May be repeated." : ""
      let kinds = setting.kinds.isEmpty ? "" : " (Of \(setting.kinds.joined(separator: ", ")).)"
      return ("\(setting.name)=\(setting.placeholder)", setting.help + repeats + kinds)
    }

  private static func sentence(_ text: String) -> String {
    text.prefix(1).uppercased() + text.dropFirst() + "."
  }

  /// Prints a sentence on standard error, with everything dangerous in it escaped.
  static func complain(_ sentence: String) { ship.report(sentence) }
}

extension Option {
  static let to = Option(
    "to", short: "t", value: "URL", repeatable: true, "Where to send: a destination's URL.")
  static let set = Option(
    "set", value: "NAME=VALUE", repeatable: true, "A setting of the destinations that --to names.")
  static let config = Option(
    "config", short: "c", value: "FILE",
    "Take destinations and directories from a file; a DIR chooses among these.")
  static let named = Option(
    "as", value: "NAME",
    "The name under which mmlog-ship notes what it has sent. Default: a name made from the URL's "
      + "host. A second destination on the same host needs this option.")
  static let once = Option(
    "once",
    "End when everything that is archived now is sent. While a destination accepts nothing, the "
      + "command waits; timeout(1) limits that.")
  static let orphans = Option(
    "orphans",
    "Recover the records that dead processes have left, send them, and end. If another mmlog-ship "
      + "works in a directory, this one leaves the directory to it.")
  static let session = Option(
    "session", value: "ID", repeatable: true,
    "Only sessions whose id begins with ID. This option has a separate cursor.")
  static let crashed = Option(
    "crashed", "Only sessions that crashed. This option has a separate cursor.")
  static let check = Option(
    "check",
    "Send no records, but at most an empty request. Say whether destinations answer, and which "
      + "records would be sent.")
  static let grace = Option(
    "grace", value: "TIME", default: "10s",
    "How long to continue to send archived records after SIGTERM or SIGINT.")
  static let ringDirectory = Option(
    "ring-directory", value: "DIR", "Where the rings are, if not beside the archives.")
  static let metrics = Option(
    "metrics", value: "FILE",
    """
    Write numbers for Prometheus to FILE each 15 seconds, for the textfile collector of the node \
    exporter: a complete new file each time. A device or a pipe is written directly, and a \
    symbolic link is refused.
    """
  )

  /// The options of every command that is about destinations.
  static let plan: [Option] = [.to, .set, .config, .named, .ringDirectory, .identity]
}

/// The directories that services log into.
let shippedOperands = Operands(
  "DIR", "Directories that services log into. Default: the one in MMLOG_DIR.")
