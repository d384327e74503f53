import Glibc

/// SIGTERM and SIGINT, which are waited for in place of being delivered: blocked before any thread
/// is made, so that no thread gets them.
enum Signals {
  private static var wanted: sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for number in [SIGTERM, SIGINT] { sigaddset(&set, number) }
    return set
  }

  static func block() {
    var set = wanted
    pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  /// The signal that has come; nil after so many nanoseconds without one.
  static func wait(nanoseconds: Int) -> Int32? {
    var set = wanted
    var time = timespec(tv_sec: nanoseconds / 1_000_000_000, tv_nsec: nanoseconds % 1_000_000_000)
    let number = sigtimedwait(&set, nil, &time)
    return number > 0 ? number : nil
  }

  /// From now on, one of these ends the process at once.
  static func unblock() {
    var set = wanted
    pthread_sigmask(SIG_UNBLOCK, &set, nil)
  }
}
