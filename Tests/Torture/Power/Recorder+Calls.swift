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
      let names = history.names.last?.value ?? [:]
      if let id = names[String(path.dropFirst(folder.utf8.count + 1))] { opened[path] = id }
      // An archive that is renamed when it has a file header notes its name.
      for (name, id) in names where opened["\(folder)/\(name)"] == nil {
        opened["\(folder)/\(name)"] = id
      }
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

    /// The file that was opened by that path, or first got it by a rename.
    private func file(_ path: String) -> RecordedFile? { opened[path].map { history.files[$0] } }
  }
#endif
