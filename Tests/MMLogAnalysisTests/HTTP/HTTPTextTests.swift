import MMLogFormat
import MMLogReader
import Testing

@testable import MMLogAnalysis

@Suite("Texts of HTTP exchanges") struct HTTPTextTests {
  @Test(
    "JSON is shown with a member on each line, and characters in the place of escapes",
    arguments: [
      (
        #"{"a":1,"b":[true,{"c":"d"}],"e":{}}"#,
        "{\n  \"a\": 1,\n  \"b\": [\n    true,\n    {\n      \"c\": \"d\"\n    }\n  ],\n  \"e\": {}\n}"
      ),
      (##"["\u4f60\u597d \ud83d\ude00"]"##, "[\n  \"你好 😀\"\n]"),
      (##"["\u0000\u001b\u0022\u005c\n\/"]"##, ##"[\##n  "\u0000\u001b\u0022\u005c\n\/"\##n]"##),
      (##"["\ud83d","\ud83dx\u12"##, ##"[\##n  "\ud83d",\##n  "\ud83dx\u12"##),
      ("[] [1", "[][\n  1"), ("}]", "\n}\n]"), (#"{"a" : "b,{c"#, "{\n  \"a\": \"b,{c"),
    ])
  func pretty(text: String, shown: String) { #expect(JSONText.pretty(text) == shown) }

  @Test("routes whose names take too much memory are counted together")
  func longRoutes() {
    var routes = HTTPRoutes(maximumBytes: 1100)
    for name in ["a", "b", "a", "c"] {
      var exchange = HTTPExchanges.Exchange(
        session: SessionID(random: (1, 2)), number: nil, start: .distantPast)
      exchange.url = "/" + String(repeating: name, count: 1000)
      routes.add(exchange)
    }
    let counts = routes.list.map { "\($0.name.prefix(4)) \($0.count)" }
    #expect(Set(counts) == ["- /a 2", "(oth 2"])
  }

  @Test("what is nested 10,000 deep is shown in as many lines, none of which is long")
  func deep() throws {
    let text = try #require(JSONText.pretty(String(repeating: "[", count: 10_000) + "1"))
    let lines = text.split(separator: "\n")
    #expect(lines.count == 10_001 && lines.allSatisfy { $0.utf8.count <= 41 })
  }

  @Test("a text that would become many times longer with lines of its own is shown as it is")
  func inflated() {
    for part in ["[", "[{", "[1,", "1,"] {
      for start in ["[", String(repeating: "[", count: 60)] {
        let text = start + String(repeating: part, count: 100_000)
        var output = TextBuffer()
        JSONText.append(pretty: text, indentedBy: "> ", to: &output)
        #expect(output.text().utf8.count <= 8 * text.utf8.count + 1024, "\(start)\(part)")
      }
    }
  }

  @Test("each number of a long list has a line")
  func longList() {
    var output = TextBuffer()
    let list = Array(repeating: "1", count: 1000).joined(separator: ",")
    JSONText.append(pretty: "{\"a\":{\"b\":[\(list)]}}", indentedBy: "    ", to: &output)
    #expect(output.text().split(separator: "\n").count == 1006)
  }

  @Test("a form is shown with a field on each line, decoded")
  func forms() {
    #expect(
      FormText.fields("q=a+b%26c&&n=%E4%BD%A0&x&y=1=2&%=%zz%4") == [
        "q = a b&c", "n = 你", "x", "y = 1=2", "% = %zz%4",
      ])
    #expect(FormText.fields("a=%+5%-0%4+1&b=%4a") == ["a = % 5%-0%4 1", "b = J"])
    #expect(FormText.fields("a=\u{301}1&\u{301}b") == ["a = \u{301}1", "\u{301}b"])
    #expect(FormText.isForm("a=1", nil) && FormText.isForm("", "application/x-www-form-urlencoded"))
    for text in ["", "abc", "{\"a\":\"=\"}", "a = b", "<a b='c'>"] {
      #expect(!FormText.isForm(text, nil), "\(text)")
    }
    #expect(!FormText.isForm("a=1", "text/plain"))
  }

  @Test(
    "a route has no ids",
    arguments: [
      ("https://h/orders/17?x=1", "h/orders/{id}"), ("http://h:80", "h:80"),
      ("/a/b2/c#7", "/a/b2/c"),
      ("/u/123e4567-e89b-12d3-a456-426614174000/x", "/u/{id}/x"), ("/v1/deadbeef01", "/v1/{id}"),
      ("/face/added/bad", "/face/added/bad"), ("-", "-"), ("", ""),
      ("https://h/x/eyJhbGciOiJIUzI1NiJ9abc", "h/x/{id}"), ("/a?\u{301}x", "/a"),
    ])
  func routes(url: String, route: String) { #expect(HTTPExchanges.route(of: url) == route) }
}
