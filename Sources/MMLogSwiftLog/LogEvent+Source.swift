#if SwiftLog
  import Logging

  extension Logging.LogEvent {
    /// The source that the event's call has given, unless it is the module that the file's name
    /// begins with.
    ///
    /// swift-log does not say whether a source was given. Without one, it makes the source from the
    /// file's name, which takes longer than a log call. For a file without a name, it makes a
    /// constant.
    var explicitSource: String? {
      var event = self
      event.file = ""
      let source = event.source
      if source == "n/a" { return nil }
      let isModule =
        file.utf8.dropFirst(source.utf8.count).first == UInt8(ascii: "/") && file.hasPrefix(source)
      return isModule ? nil : source
    }
  }
#endif
