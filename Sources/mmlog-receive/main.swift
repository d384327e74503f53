import CommandLineTool

extension Option {
  static let directory = Option(
    "directory", short: "d", value: "DIR", required: true,
    "Where archives are stored, as SERVICE/HOST/ARCHIVE; made if missing.")
  static let listen = Option(
    "listen", short: "l", value: "ADDRESS", default: "127.0.0.1:7514",
    "HOST:PORT, or unix:PATH for a Unix socket. Port 0: the system chooses one.")
  static let tokens = Option(
    "tokens", value: "FILE",
    "Who may send: lines of 'NAME TOKEN'. Without it, anybody may send; --listen must then be a "
      + "loopback address or a Unix socket.")
  static let certificate = Option(
    "tls-certificate", value: "FILE", "Certificate and its chain in PEM: HTTPS only.")
  static let key = Option("tls-key", value: "FILE", "Key of the certificate in PEM.")
  static let maxArchive = Option(
    "max-archive", value: "SIZE", default: "1G", "How large one archive may be.")
  static let maxClient = Option(
    "max-client", value: "SIZE", "Maximum bytes kept for one client. Default: no limit.")
  static let maxTotal = Option(
    "max-total", value: "SIZE", "Maximum bytes kept for all clients. Default: no limit.")
  static let keepFree = Option(
    "keep-free", value: "SIZE|PERCENT", default: "5%", "What is left free on the file system.")
  static let maxUnfinished = Option(
    "max-unfinished", value: "N", default: "64",
    "How many uploads of one client may wait for the rest.")
  static let unfinishedAge = Option(
    "unfinished-age", value: "DURATION", default: "1d",
    "How long an upload waits for the rest, such as 12h.")
  static let connections = Option(
    "connections", value: "N", default: "64", "How many connections are taken at a time.")
  static let connectionsPerAddress = Option(
    "connections-per-address", value: "N", default: "0",
    "How many of them from one address; 0 for any number, as behind a proxy.")
  static let timeout = Option(
    "timeout", value: "SECONDS", default: "30",
    "How long a client may take for a request's header. A body must come with at least 1 KiB a "
      + "second, measured over this time.")
}

let command = Command(
  name: "mmlog-receive",
  description: [
    "Receives sealed archives over HTTP, checks every frame, and stores them.",
    "A client sends an archive with PUT to /archives/NAME, where NAME is the archive's file name. "
      + "When the archive is complete and correct, it is stored as SERVICE/HOST/ARCHIVE. These "
      + "names come from its checked file header. mmlog-decode -R DIR reads the archives, and "
      + "mmlogctl prune DIR/*/* deletes them by limits. The same archive again changes nothing; "
      + "another archive of the same name is refused, unless it begins with the stored one. HEAD "
      + "says how many bytes of an interrupted upload the receiver has. SIGTERM ends the receiver; "
      + "clients can resume their uploads.",
  ],
  options: [
    .directory, .listen, .tokens, .certificate, .key, .maxArchive, .maxClient, .maxTotal,
    .keepFree, .maxUnfinished, .unfinishedAge, .connections, .connectionsPerAddress, .timeout,
  ],
  examples: [
    Example("Receive from this machine", "mmlog-receive -d /var/lib/mmlog-receive"),
    Example(
      "Send an archive",
      "curl -H 'If-None-Match: *' -T ARCHIVE.mmlog http://127.0.0.1:7514/archives/"),
    Example("Read what came", "mmlog-decode -R /var/lib/mmlog-receive"),
    Example(
      "Receive from everywhere",
      "mmlog-receive -d /var/lib/mmlog-receive -l 0.0.0.0:7514 --tokens tokens "
        + "--tls-certificate cert.pem --tls-key key.pem"),
  ],
  exitStatuses: [
    (.success, "a signal has ended it"),
    (.failure, "it could not be started"),
    (.usage, "the command line was wrong"),
  ])

Program.run(command) { arguments, _ in try Receiver(arguments).run() }
