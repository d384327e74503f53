/// The name of a signal, as in `SIGSEGV`; `signal 77` if it has no name here.
func signalName(_ number: Int32) -> String { signalNames[number] ?? "signal \(number)" }

/// As Linux numbers them on both processors.
private let signalNames: [Int32: String] = [
  1: "SIGHUP", 2: "SIGINT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE",
  11: "SIGSEGV", 15: "SIGTERM", 31: "SIGSYS",
]
