package import MMLogFormat
package import MMLogReader
import MMLogSystem

extension HTTPExchanges {
  /// How exchanges are listed.
  package struct Style: Sendable {
    /// Whether the exchanges that took longest come first.
    package var isSlowestFirst = false
    /// The maximum number of rows.
    package var rows = Int.max
    /// Whether header fields and bodies follow each exchange.
    package var hasMessages = false
    /// The maximum width of lines; nil: no limit.
    package var columns: Int?

    /// Makes a style in the order of time.
    package init() {}
  }

  /// The exchanges that are listed, in their order.
  package func rows(_ style: Style) -> ArraySlice<Exchange> {
    var rows = list
    if style.isSlowestFirst {
      rows.sort { $0.duration ?? .zero > $1.duration ?? .zero }
    }
    return rows.prefix(style.rows)
  }

  /// Appends a line for each exchange, for people: time, method, status, milliseconds, bytes, URL.
  package func appendText(_ style: Style, zone: LogTimeZone, to output: inout TextBuffer) {
    var time = TimeFormatter(zone)
    let rows = rows(style)
    let timeWidth = rows.first.map { time.text(of: $0.start, digits: 3).count } ?? 0
    append(
      Cells("TIME", timeWidth, "METHOD", "STATUS", "MS", "BYTES", "URL"), style, to: &output)
    for row in rows {
      append(
        Cells(
          time.text(of: row.start, digits: 3), timeWidth, row.method ?? "-", row.statusText,
          row.duration.map(milliseconds) ?? "-", row.size.map { "\($0)" } ?? "-",
          row.place), style, to: &output)
      if style.hasMessages { appendMessages(of: row, to: &output) }
    }
    if others > 0 { output.append(text: "\(others) shorter exchanges\n") }
  }

  /// The cells of a line. The last cell is as wide as its text.
  private struct Cells {
    let texts: [(text: String, width: Int, isRight: Bool)]
    let last: String

    init(
      _ time: String, _ width: Int, _ method: String, _ status: String, _ duration: String,
      _ size: String, _ url: String
    ) {
      texts = [
        (time, width, false), (method, 7, false), (status, 6, false), (duration, 10, true),
        (size, 9, true),
      ]
      last = url
    }
  }

  private func append(_ cells: Cells, _ style: Style, to output: inout TextBuffer) {
    var line = TextBuffer(capacity: 128)
    for (text, width, isRight) in cells.texts {
      var cell = TextBuffer(capacity: 16)
      cell.append(text, .plain)
      let spaces = max(0, width - cell.text().columns)
      if isRight { line.append(UInt8(ascii: " "), count: spaces) }
      line.append(text: cell.text())
      line.append(UInt8(ascii: " "), count: (isRight ? 0 : spaces) + 2)
    }
    line.append(cells.last, .plain)
    output.append(line: line.text(), within: style.columns)
  }

  private func appendMessages(of row: Exchange, to output: inout TextBuffer) {
    for (sign, message) in [(">", row.request), ("<", row.response)] {
      for (name, value) in message.headers {
        output.append(text: "  \(sign) ")
        output.append("\(name): \(value)", .plain)
        output.append("\n")
      }
      if let body = message.body, FormText.isForm(body, message.contentType) {
        for field in FormText.fields(body) {
          output.append(text: "  \(sign) ")
          output.append(field, .plain)
          output.append("\n")
        }
      } else if let body = message.body {
        JSONText.append(pretty: body, indentedBy: "  \(sign) ", to: &output)
      } else if let size = message.bodySize {
        output.append(text: "  \(sign) \(size) bytes\n")
      }
    }
  }

  /// Appends a JSON object on a line for each exchange; names are OpenTelemetry's.
  package func appendJSON(_ style: Style, zone: LogTimeZone, to output: inout TextBuffer) {
    var time = TimeFormatter(zone)
    for row in rows(style) {
      var object = JSONObject()
      object.add("start_time", row.start, &time)
      object.add("duration_nano", row.duration?.nanoseconds)
      object.add("outcome", row.outcome.rawValue)
      object.add("http.request.method", row.method)
      object.add("url.full", row.url)
      object.add("http.response.status_code", row.status)
      object.add("http.response.body.size", row.size)
      object.add("error", row.error)
      if style.hasMessages {
        for (name, message) in [("request", row.request), ("response", row.response)] {
          object.add("http.\(name).headers", json: message.json(named: false))
          object.add("http.\(name).body.content", message.body)
        }
      }
      object.add("span_id", row.number.map(LogReader.Span.text))
      object.add("scope_name", row.label)
      object.add("session_id", row.session.description)
      output.append(text: object.text + "\n")
    }
  }
}

extension HTTPExchanges.Exchange {
  fileprivate var statusText: String {
    if let status { return "\(status)" }
    return outcome == .ok ? "-" : outcome.rawValue
  }

  /// The URL, followed by the error.
  fileprivate var place: String { [url ?? "-", error].compactMap(\.self).joined(separator: "  ") }
}

extension HTTPExchanges.Message {
  /// Header fields as JSON: an object, in which names that occur several times have arrays, or an
  /// array of objects with name and value.
  func json(named: Bool) -> String? {
    if named {
      return JSONObject.array(
        headers.map { name, value in
          var object = JSONObject()
          object.add("name", name)
          object.add("value", value)
          return object.text
        })
    }
    if headers.isEmpty { return nil }
    let values = Dictionary(grouping: headers) { Array($0.name.utf8) }
    var (object, added) = (JSONObject(), Set<[UInt8]>())
    for (name, value) in headers where added.insert(Array(name.utf8)).inserted {
      if let all = values[Array(name.utf8)], all.count > 1 {
        object.add(name, json: JSONObject.array(all.map { JSONObject.text(of: $0.value) }))
      } else {
        object.add(name, value)
      }
    }
    return object.text
  }
}

/// With three digits after the point.
func milliseconds(_ duration: Duration) -> String {
  let microseconds = max(0, duration.nanoseconds) / 1000
  let rest = "\(microseconds % 1000)"
  return "\(microseconds / 1000).\(String(repeating: "0", count: 3 - rest.count))\(rest)"
}
