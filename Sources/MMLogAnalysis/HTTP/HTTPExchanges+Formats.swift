import MMLogFormat
package import MMLogReader

extension HTTPExchanges {
  /// Appends an HTTP archive, version 1.2, as browsers' tools and others read it.
  ///
  /// What was redacted stays so. An exchange that was in flight, or failed, has the status 0.
  ///
  /// - Parameter version: Of the program that makes it.
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

  /// Appends a command of curl(1) for each, that sends the same request, but for what was redacted.
  package func appendCurl(_ style: Style, to output: inout TextBuffer) {
    for row in rows(style) {
      guard let url = row.url else { continue }
      let method = row.method ?? "GET"
      // With -X, curl would wait for the body of an answer that has none.
      var words = ["curl", "--globoff"]
      words += method == "HEAD" ? ["--head"] : ["-X", method.quotedForShell]
      words += row.request.headers.flatMap { ["-H", "\($0.name): \($0.value)".quotedForShell] }
      if let body = row.request.body { words += ["--data-raw", body.quotedForShell] }
      words += ["--", url.quotedForShell]
      output.append(text: words.joined(separator: " ") + "\n")
    }
  }
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
    return object.text
  }

  private func add(_ message: HTTPExchanges.Message, to object: inout JSONObject) {
    object.add("httpVersion", "")
    object.add("headers", json: message.json(named: true))
    object.add("cookies", json: "[]")
    object.add("headersSize", -1)
    object.add("bodySize", message.bodySize ?? -1)
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
