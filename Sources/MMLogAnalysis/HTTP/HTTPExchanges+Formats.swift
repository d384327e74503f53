import MMLogFormat
package import MMLogReader

extension HTTPExchanges {
  /// Appends an HTTP archive, version 1.2, as browsers' tools and others read it.
  ///
  /// Redacted values stay redacted. An exchange without an answer has the status 0.
  ///
  /// - Parameter version: The version of the program that makes the archive.
  package func appendHAR(_ style: Style, version: String, to output: inout TextBuffer) {
    var time = TimeFormatter(.utc)
    output.append(text: #"{"log":{"version":"1.2","creator":{"name":"mmlog-decode","version":""#)
    output.append(text: version + #""},"#)
    output.append(text: #""entries":["#)
    for (index, row) in rows(style).enumerated() {
      if index > 0 { output.append(",") }
      output.append(text: "\n" + row.har(&time))
    }
    output.append("\n]}}\n")
  }

  /// Appends a curl(1) command for each exchange. It sends the same request, except for redacted
  /// values. A comment before the command says what else is missing.
  package func appendCurl(_ style: Style, to output: inout TextBuffer) {
    for row in rows(style) {
      guard let url = row.url else { continue }
      let method = row.method ?? "GET"
      // With -X, curl would wait for the body of an answer that has none.
      var words = ["curl", "--globoff"]
      let isHead = method == "HEAD"
      words += isHead ? ["--head"] : ["-X", method.quotedForShell]
      for (name, value) in row.request.headers where !Self.fieldsOfCurl.contains(name) {
        // With a colon and nothing behind it, curl would leave the field out.
        words += ["-H", (value.isEmpty ? "\(name);" : "\(name): \(value)").quotedForShell]
      }
      if let body = row.request.body, !isHead {
        // Without the field, curl would say that the body is a form.
        if row.request.contentType == nil { words += ["-H", "content-type:"] }
        words += ["--data-raw", body.quotedForShell]
      }
      words += ["--", url.quotedForShell]
      let unsent = isHead && row.request.body != nil ? "curl sends no body with HEAD" : nil
      let hasZero = ([method, url, row.request.body ?? ""] + row.request.headers.map(\.value))
        .contains { $0.utf8.contains(0) }
      let ended = hasZero ? "a zero byte, and what follows it, has no place in a command" : nil
      let relative = url.hasPrefix("/") ? "the URL has no host: write one before it" : nil
      if let missing = HTTPExchanges.Exchange.sentence(
        [relative, row.missingOfRequest, unsent, ended])
      {
        output.append(text: "# \(missing)\n")
      }
      output.append(text: words.joined(separator: " ") + "\n")
    }
  }

  /// Header fields that curl itself writes about the body.
  private static let fieldsOfCurl: Set = ["content-length", "transfer-encoding"]
}

extension HTTPExchanges.Exchange {
  fileprivate func har(_ time: inout TimeFormatter) -> String {
    let milliseconds = duration.map(milliseconds) ?? "0"
    var object = JSONObject()
    object.add("startedDateTime", time.text(of: start, digits: 3))
    object.add("time", json: milliseconds)
    object.add("request", json: harRequest)
    object.add("response", json: harResponse)
    object.add("cache", json: "{}")
    object.add("timings", json: #"{"send":0,"wait":\#(milliseconds),"receive":0}"#)
    object.add("comment", error ?? (outcome == .open ? "in flight" : nil))
    return object.text
  }

  private var harRequest: String {
    var object = JSONObject()
    object.add("method", method ?? "")
    object.add("url", url ?? "")
    add(request, to: &object)
    object.add("queryString", json: harQuery)
    object.add("comment", missingOfRequest)
    if let body = request.body {
      var data = JSONObject()
      data.add("mimeType", request.contentType ?? "")
      data.add("text", body)
      object.add("postData", json: data.text)
    }
    return object.text
  }

  private var harResponse: String {
    var object = JSONObject()
    object.add("status", status ?? 0)
    object.add("statusText", "")
    add(response, to: &object)
    var content = JSONObject()
    content.add("size", size ?? response.bodySize ?? 0)
    content.add("mimeType", response.contentType ?? "")
    content.add("text", response.body)
    object.add("content", json: content.text)
    object.add("redirectURL", response.headers.first { $0.name == "location" }?.value ?? "")
    object.add("comment", status == nil ? nil : Self.sentence(response.missing))
    return object.text
  }

  private func add(_ message: HTTPExchanges.Message, to object: inout JSONObject) {
    object.add("httpVersion", "")
    object.add("headers", json: message.json(named: true))
    object.add("cookies", json: "[]")
    object.add("headersSize", -1)
    object.add("bodySize", message.bodySize ?? -1)
  }

  /// What was not recorded of the request; nil if nothing is known to be missing.
  fileprivate var missingOfRequest: String? {
    let hasBody = ["POST", "PUT", "PATCH"].contains(method)
    return Self.sentence(
      [(url ?? "").isCut ? "the URL is cut" : nil] + request.missing
        + [hasBody && request.bodySize == nil ? "no body was recorded" : nil])
  }

  fileprivate static func sentence(_ parts: [String?]) -> String? {
    let parts = parts.compactMap(\.self)
    return parts.isEmpty ? nil : parts.joined(separator: "; ")
  }

  private var harQuery: String {
    let plain = (url ?? "").unicodeScalars.prefix { $0 != "#" }
    let pairs = plain.split(separator: "?", maxSplits: 1).dropFirst().first?.split(separator: "&")
    return JSONObject.array(
      (pairs ?? []).map { pair in
        let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        var object = JSONObject()
        object.add("name", String(parts[0]))
        object.add("value", parts.count > 1 ? String(parts[1]) : "")
        return object.text
      })
  }
}

extension HTTPExchanges.Message {
  /// What of the message was not recorded, or has no room here.
  fileprivate var missing: [String?] {
    [
      missingHeaders,
      headers.contains { $0.value.isCut } ? "a header field is cut" : nil,
      isBodyCut && body != nil ? "the body is cut" : nil,
      body == nil ? bodySize.map { "the body of \($0) bytes is missing" } : nil,
    ]
  }

  private var missingHeaders: String? {
    guard let headerCount else {
      return headers.isEmpty ? "no header fields were recorded" : nil
    }
    // Compared first: a logged number may be any.
    return headerCount > headers.count
      ? "\(headerCount - headers.count) header fields are missing" : nil
  }
}

extension String {
  /// Whether the text ends like one that MMLogHTTP has cut.
  fileprivate var isCut: Bool { utf8.suffix(3).elementsEqual("…".utf8) }
}
