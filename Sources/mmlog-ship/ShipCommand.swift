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
      What a destination has acknowledged is noted there; nothing else is kept. The user that runs \
      it must be able to write there.
      """,
      """
      A destination is a URL. With https in place of http, certificates are verified. Its settings \
      stand behind --set, or in [destination NAME] of a configuration file. Secrets come from \
      files alone, which are read again at each use.
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
      let repeats = Target.repeatable.contains(setting.name) ? " May be repeated." : ""
      let kinds = setting.name == Target.archiveSetting ? "" : " (Not of s3, put.)"
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
    "The name under which what was sent is noted. Default: a name made from the URL's host; "
      + "another destination there needs this option.")
  static let once = Option(
    "once",
    "End when all that is archived now is sent. While a destination takes nothing, it is waited "
      + "for; timeout(1) limits that.")
  static let orphans = Option(
    "orphans",
    "Recover what dead processes have left, send it, and end. A directory in which another "
      + "mmlog-ship is at work is left to that one.")
  static let session = Option(
    "session", value: "ID", repeatable: true,
    "Only sessions whose id begins so. What is sent is noted apart from everything else.")
  static let crashed = Option("crashed", "Only sessions that crashed; what is sent is noted apart.")
  static let check = Option(
    "check",
    "Send nothing: say whether destinations answer, and what of which session would be sent.")
  static let grace = Option(
    "grace", value: "TIME", default: "10s",
    "How long to go on sending what is archived after SIGTERM or SIGINT.")
  static let ringDirectory = Option(
    "ring-directory", value: "DIR", "Where the rings are, if not beside the archives.")
  static let metrics = Option(
    "metrics", value: "FILE",
    """
    Write numbers for Prometheus there each 15 seconds, for its node exporter's textfile \
    collector: a whole new file each time. A device or a pipe is written to as it is, and a \
    symbolic link is refused.
    """
  )

  /// The options of every command that is about destinations.
  static let plan: [Option] = [.to, .set, .config, .named, .ringDirectory, .identity]
}

/// The directories that services log into.
let shippedOperands = Operands(
  "DIR", "Directories that services log into. Default: the one in MMLOG_DIR.")
