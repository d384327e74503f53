package import MMLogSystem

extension File {
  /// Gives up the lock of the file, and closes it.
  ///
  /// Closing alone gives the lock up only when no process has a copy of the descriptor. A child that
  /// another test starts has one until it runs its own program.
  package consuming func unlockAndClose() throws(SystemError) {
    try unlock()
    try close()
  }
}
