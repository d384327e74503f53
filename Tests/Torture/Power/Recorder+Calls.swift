#if DEBUG
  import MMLogSystem

  extension Recorder {
    /// Takes in a system call. The caller has the lock.
    func take(_ call: SystemCall, _ path: String, _ phase: CallObserver.Phase) {
      guard path.hasPrefix(folder) else { return }
      switch call {
      case .openat, .renameat, .linkat, .unlinkat: if phase != .begins { changeNames(path) }
      case .pwrite, .ftruncate, .fallocate, .mmap:
        step()
        file(path)?.scan(history.now)
      case .fsync, .fdatasync: sync(path, phase)
      default: break
      }
    }

    private func changeNames(_ path: String) {
      step()
      scanNames()
      let name = String(path.dropFirst(folder.utf8.count + 1))
      if let id = history.names.last?.value[name] { opened[path] = id }
    }

    private func sync(_ path: String, _ phase: CallObserver.Phase) {
      step()
      if path == folder {
        if phase == .succeeded, let began = nameSyncBegan {
          history.nameSyncs.append(.init(began: began, ended: history.now))
        }
        nameSyncBegan = phase == .begins ? history.now : nil
      } else if let file = file(path) {
        file.scan(history.now)
        if phase == .succeeded, let began = file.syncBegan {
          file.syncs.append(.init(began: began, ended: history.now))
        }
        file.syncBegan = phase == .begins ? history.now : nil
      }
    }

    /// The file that was opened by that path. A name that it got later does not change it.
    private func file(_ path: String) -> RecordedFile? { opened[path].map { history.files[$0] } }
  }
#endif
