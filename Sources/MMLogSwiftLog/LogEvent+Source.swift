#if SwiftLog
  import Logging

  extension Logging.LogEvent {
    /// The source, unless it is the module that the file's name begins with, which swift-log takes
    /// where none is given.
    var explicitSource: String? {
      // Made anew each time that it is asked for.
      let source = source
      let isModule =
        file.utf8.dropFirst(source.utf8.count).first == UInt8(ascii: "/") && file.hasPrefix(source)
      return isModule ? nil : source
    }
  }
#endif
