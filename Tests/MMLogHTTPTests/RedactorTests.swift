import Glibc
import TestSupport
import Testing

@testable import MMLogHTTP

@Suite("The redactor") struct RedactorTests {
  private let redactor = Redactor.standard

  @Test(
    "values of a URL's query are redacted by their names, however these are encoded",
    arguments: [
      ("https://h/p?token=abc", "https://h/p?token=REDACTED"),
      ("https://h/p?q=1&access_token=abc&x=2", "https://h/p?q=1&access_token=REDACTED&x=2"),
      ("/p?Access-Token=abc", "/p?Access-Token=REDACTED"),
      ("/p?user[apiKey]=abc&y=1", "/p?user[apiKey]=REDACTED&y=1"),
      ("/p?%70assword=abc", "/p?%70assword=REDACTED"),
      ("/p?%2570assword=abc", "/p?%2570assword=REDACTED"),
      ("/p?pass+word=a%26b#top", "/p?pass+word=REDACTED#top"),
      ("/p?a=1;password=2;b=3", "/p?a=1;password=REDACTED"),
      ("/p?password=", "/p?password="),
      ("/p?password", "/p?password"),
      ("/cb#id_token=abc&state=1", "/cb#id_token=REDACTED&state=1"),
      ("/p;jsessionid=abc?x=1", "/p;jsessionid=REDACTED"),
      ("/p?next=%2Flogin%3Ftoken%3Dabc&x=1", "/p?next=%2Flogin%3Ftoken%3DREDACTED&x=1"),
      ("/p?key=abc&keyboard=1&monkey=2", "/p?key=REDACTED&keyboard=1&monkey=2"),
      ("/p?%=1&%4=2&token=%zz", "/p?%=1&%4=2&token=REDACTED"),
      ("/p?code_verifier=abc", "/p?code_verifier=REDACTED"),
      ("/p?device_code=abc&user=1", "/p?device_code=REDACTED&user=1"),
      ("/tokens/7?page=2", "/tokens/7?page=2"),
      ("https://h/", "https://h/"), ("", ""),
    ])
  func query(url: String, redacted: String) {
    #expect(redactor.redacted(url: url) == redacted)
  }

  @Test(
    "the user information of a URL is redacted",
    arguments: [
      ("https://ann:pw@h/p", "https://REDACTED@h/p"), ("https://ann@h", "https://REDACTED@h"),
      ("https://a:p@w@h/p", "https://REDACTED@@h/p"), ("//ann:pw@h", "//REDACTED@h"),
      ("https:ann:pw@h/p", "https:REDACTED@h/p"), ("https:\\\\ann:pw@h/", "https:\\\\REDACTED@h/"),
      ("https://ann:p%2Fw@h/p", "https://REDACTED@h/p"),
      ("https://ann:p/w@h/p", "https://REDACTED@h/p"),
      ("https://h:8080/@scope/x", "https://h:8080/@scope/x"),
      ("https://[::1]:80/@x", "https://[::1]:80/@x"),
      ("/p?to=https%3A%2F%2Fann%3Apw%40h%2Fx&y=1", "/p?to=https%3A%2F%2FREDACTED@h%2Fx&y=1"),
      ("/r?u=//ann:pw@h&v=1", "/r?u=//REDACTED@h&v=1"),
      ("/r?u=%2F%2Fa:b@h", "/r?u=%2F%2FREDACTED@h"),
      ("/r?u=//h/x@y&v=a@b", "/r?u=//h/x@y&v=a@b"),
      // Signs in a password that should have been encoded.
      ("https://ann:p#S@h/p", "https://REDACTED@h/p"),
      ("https://ann:p?S@h/p", "https://REDACTED@h/p"),
      ("https://ann:p/x&S#S@h/p", "https://REDACTED@h/p"),
      ("/r?u=https://ann:p#S@h&v=1", "/r?u=https://REDACTED@h&v=1"),
      (
        "https://h:8443/?a=b@c&u=https://e:f/S@g&v=1",
        "https://h:8443/?a=b@c&u=https://REDACTED@g&v=1"
      ),
      ("https://a:b/x?token=S40&u=1", "https://REDACTEDREDACTED&u=1"),
      ("/p?to=https%3A%2F%2Fh%2Fx#a@b", "/p?to=https%3A%2F%2Fh%2Fx#a@b"),
      ("https://h:x/?a=1", "https://h:x/?a=1"),
      ("https://x=//ann:S@h/p", "https://x=//REDACTED@h/p"),
      // A scheme before the scheme.
      ("jdbc:postgresql://app:S@db/x", "jdbc:postgresql://REDACTED@db/x"),
      ("blob:https://ann:S@h/", "blob:https://REDACTED@h/"),
      ("s3://https://ann:S@h/", "s3://https://REDACTED@h/"),
      ("proxy://h://ann:S@g/", "proxy://h://REDACTED@g/"),
      // Clients pass over further slashes.
      ("https:///ann:S@h/", "https:///REDACTED@h/"),
      ("https:////ann:S@h/", "https:////REDACTED@h/"),
    ])
  func userInformation(url: String, redacted: String) {
    #expect(redactor.redacted(url: url) == redacted)
  }

  @Test(
    "signs in a password that should have been encoded hide it neither in a form nor in a message",
    arguments: [
      ("dsn=redis://:p/S@h&b=https://h/x@y", "dsn=redis://REDACTED@h&b=https://h/x@y"),
      ("dsn=postgres://u:S?S#S@h/db&x=1", "dsn=postgres://REDACTED@h/db&x=1"),
    ],
    [
      (
        "connect postgres://app:p/S@db/x failed, ask a@b",
        "connect postgres://REDACTED@db/x failed, ask a@b"
      ),
      ("https://ann:p/S@h/x", "https://REDACTED@h/x"),
      ("really? <postgres://app:p&q#S@db/x> a@b", "really? <postgres://REDACTED@db/x> a@b"),
      ("see https://h:x/y or mail to a@b", "see https://h:x/y or mail to a@b"),
      ("https://h:80/x?a=1 b@c", "https://h:80/x?a=1 b@c"),
      (#"https://a=b"token":S"#, #"https://a=b"token":REDACTED"#),
      ("https://h@a=1&token=S", "https://REDACTED@REDACTED"),
    ])
  func passwordsWithSigns(form: (String, String), text: (String, String)) {
    #expect(redactor.redacted(form: form.0) == form.1)
    #expect(redactor.redacted(text: text.0) == text.1)
    #expect(redactor.redacted(header: text.0, named: "location") == text.1)
  }

  @Test(
    "a rule counts for a part of a name between other signs, and not for what only begins so",
    arguments: [
      ("card[cvc]=S&card[exp]=1", "card[cvc]=REDACTED&card[exp]=1"),
      ("card%5Bcvc%5D=S&x=1", "card%5Bcvc%5D=REDACTED&x=1"),
      ("user[pwd]=S&user[name]=ann", "user[pwd]=REDACTED&user[name]=ann"),
      ("db_pass=S&pass-phrase=S&my.pin=S", "db_pass=REDACTED&pass-phrase=REDACTED&my.pin=REDACTED"),
      ("connect.sid=S&PHPSESSID=S&a=1", "connect.sid=REDACTED&PHPSESSID=REDACTED&a=1"),
      ("pass%255Fdb=S&a=1", "pass%255Fdb=REDACTED&a=1"),
      ("compass=1&passenger=2&by_pass_es=3", "compass=1&passenger=2&by_pass_es=REDACTED"),
      ("compass[x]=1&a_passenger=2&pin_s=3", "compass[x]=1&a_passenger=2&pin_s=REDACTED"),
      ("side=1&a-side=2&inside_out=3&keys[]=4", "side=1&a-side=2&inside_out=3&keys[]=4"),
      ("_=1&[]=2&__=3", "_=1&[]=2&__=3"),
      ("dbPass=S&cardPIN=S&user2Pwd=S", "dbPass=REDACTED&cardPIN=REDACTED&user2Pwd=REDACTED"),
      ("db%50ass=S&passCount=S&PinCode=S", "db%50ass=REDACTED&passCount=REDACTED&PinCode=REDACTED"),
      ("ByPassenger=1&outSide=2&COMPASS=3", "ByPassenger=1&outSide=2&COMPASS=3"),
      ("auth[deviceCode]=S&f.samlResponse=S", "auth[deviceCode]=REDACTED&f.samlResponse=REDACTED"),
      ("messageSid=1&connect.sid=S&a[Sid]=S", "messageSid=1&connect.sid=REDACTED&a[Sid]=REDACTED"),
    ])
  func parts(form: String, redacted: String) {
    #expect(redactor.redacted(form: form) == redacted)
    #expect(redactor.redacted(url: "/p?" + form) == "/p?" + redacted)
  }

  @Test("parts of names count in header fields and JSON, and not before a colon in a message")
  func partsElsewhere() {
    #expect(redactor.redacted(header: "S", named: "X-Db-Pass") == "REDACTED")
    #expect(redactor.redacted(header: "1", named: "X-Passenger") == "1")
    let json = Array(
      #"{"db_pass":"S","card\u005bcvc]":"S","compass":"1","user\/pwd":"S","dbPass":"S"}"#.utf8)
    #expect(
      String(decoding: redactor.redacted(json: json), as: UTF8.self)
        == #"{"db_pass":"REDACTED","card\u005bcvc]":"REDACTED","compass":"1","#
        + #""user\/pwd":"REDACTED","dbPass":"REDACTED"}"#)
    let own = Redactor(rules: [.redact("taxId"), .drop("accountNumber*")])
    #expect(
      own.redacted(form: "user[taxId]=S&a.accountNumberOf=S&tax=1")
        == "user[taxId]=REDACTED&a.accountNumberOf=&tax=1")
    #expect(redactor.redacted(text: "auth-service: refused") == "auth-service: refused")
    #expect(redactor.redacted(text: "db_pass=S") == "db_pass=REDACTED")
  }

  @Test("a rule that keeps counts for whole names, and for no name with a part that is so")
  func keptParts() {
    let redactor = Redactor(rules: [.keep("pass"), .keep("db_pass")])
    let form = redactor.redacted(form: "pass=1&api_key=S&db_pass=3&my_pass=S")
    #expect(form == "pass=1&api_key=REDACTED&db_pass=3&my_pass=REDACTED")
    let names = Redactor.standard.redacted(form: "key=S&sort_key=2&auth_type=3&session_count=4")
    #expect(names == "key=REDACTED&sort_key=2&auth_type=3&session_count=4")
    let added = Redactor(rules: [.redact("key")])
    #expect(added.redacted(form: "sort_key=S") == "sort_key=REDACTED")
    let listing = Redactor(rules: [.keep("page")], unlistedValues: .redact)
    #expect(listing.redacted(form: "page=1&page[size]=2") == "page=1&page[size]=REDACTED")
  }

  @Test("letters beyond ASCII are compared as they are, in any case and encoding")
  func otherLetters() {
    let redactor = Redactor(rules: [
      .redact("密码"), .keep("姓名"), .redact("пароль"), .redact("*clé"), .redact("😀"),
    ])
    for (json, redacted) in [
      (##"{"\u5bc6\u7801":"S"}"##, ##"{"\u5bc6\u7801":"REDACTED"}"##),
      (#"{"密码":"S","姓名":"1","姓码":"2"}"#, #"{"密码":"REDACTED","姓名":"1","姓码":"2"}"#),
      (
        ##"{"Пароль":"S","ПАРОЛЬ":"S","\u041fароль":"S","пароли":1}"##,
        ##"{"Пароль":"REDACTED","ПАРОЛЬ":"REDACTED","\u041fароль":"REDACTED","пароли":1}"##
      ),
      (
        ##"{"maCLÉ":"S","ma_cl\u00e9":"S","\ud83d\ude00":"S","##
          + ##""cl\u00e8":1,"\ud83d\ude01":2}"##,
        ##"{"maCLÉ":"REDACTED","ma_cl\u00e9":"REDACTED","\ud83d\ude00":"REDACTED","##
          + ##""cl\u00e8":1,"\ud83d\ude01":2}"##
      ),
    ] {
      let found = redactor.redacted(json: Array(json.utf8))
      #expect(String(decoding: found, as: UTF8.self) == redacted)
    }
    #expect(
      redactor.redacted(form: "%E5%AF%86%E7%A0%81=S&姓名=1&%25D0%259Fароль=S")
        == "%E5%AF%86%E7%A0%81=REDACTED&姓名=1&%25D0%259Fароль=REDACTED")
    // The capitals of `ß` are another name's.
    let keeping = Redactor(rules: [.redact("mass"), .keep("maß")])
    #expect(keeping.redacted(form: "maß=1&MAẞ=1&mass=S") == "maß=1&MAẞ=1&mass=REDACTED")
  }

  @Test("a rule for everything counts for each name, and rules behind it for theirs")
  func everything() {
    let redactor = Redactor(rules: [.redact("*"), .keep("page"), .drop("x")])
    #expect(
      redactor.redacted(url: "/p?page=1&q=2&=3&x=4&none")
        == "/p?page=1&q=REDACTED&=REDACTED&x=&none")
    #expect(redactor.redacted(form: "page=1&card[cvc]=2") == "page=1&card[cvc]=REDACTED")
    let json = redactor.redacted(json: Array(#"{"page":1,"q":{"a":1},"":2,"密":3}"#.utf8))
    #expect(
      String(decoding: json, as: UTF8.self)
        == #"{"page":1,"q":"REDACTED","":"REDACTED","密":"REDACTED"}"#)
    #expect(redactor.redacted(header: "1", named: "accept") == "REDACTED")
    #expect(redactor.redacted(text: "page: 1, q: 2") == "page: 1, q: REDACTED")
    #expect(Redactor(rules: [.drop("**")]).redacted(form: "a=1&=2") == "a=&=")
    #expect(Redactor(rules: [.keep("*")]).redacted(form: "token=1") == "token=1")
    #expect(Redactor(rules: [.redact(""), .redact("-")]).redacted(form: "a=1&-=2") == "a=1&-=2")
  }

  @Test(
    "JSON in a URL's query and in a form is redacted, up to the end of its pair",
    arguments: [
      (#"filter={"token":"S","b":1}&x=1"#, #"filter={"token":REDACTED&x=1"#),
      (
        "payload=%7B%22a%22%3A1%2C+%22db_pass%22+%3A+%22S%22%7D&b=2",
        "payload=%7B%22a%22%3A1%2C+%22db_pass%22+%3AREDACTED&b=2"
      ),
      ("p=%257B%2522pin%2522%253A7%257D", "p=%257B%2522pin%2522%253AREDACTED"),
      (
        #"p={"b":"{\"a\":\"\",\"token\":\"S\"}"}"#, #"p={"b":"{\"a\":\"\",\"token\":REDACTED"#
      ),
      (#"p={"u":"https://h/?key=S"}&a=1"#, #"p={"u":"https://h/?key=REDACTED&a=1"#),
      // A host may be a name and a password, which go on.
      (#"p={"u":"//ann:pw@h","sid":"S"}&a=1"#, #"p={"u":"//REDACTED@REDACTED&a=1"#),
      (#"p={"u":"https://h","token":"S"}"#, #"p={"u":"https://REDACTEDREDACTED"#),
      (#"q="a":1&pin=S&c=3"#, #"q="a":1&pin=REDACTED&c=3"#),
      (#"q="token"&b="key: 2"&"pin"=S"#, #"q="token"&b="key: 2"&"pin"=REDACTED"#),
      (#"p={"n":"a?b","t":"12:30","c":["token"]}"#, #"p={"n":"a?b","t":"12:30","c":["token"]}"#),
    ])
  func jsonInPairs(form: String, redacted: String) {
    #expect(redactor.redacted(form: form) == redacted)
    #expect(redactor.redacted(url: "/p?" + form) == "/p?" + redacted)
    // Fields of JSON are no values of a form.
    let listing = Redactor(rules: [.keep("p")], unlistedValues: .redact)
    #expect(listing.redacted(form: #"p={"n":1}&q=2"#) == #"p={"n":1}&q=REDACTED"#)
  }

  @Test(
    "keys of services are redacted",
    arguments: [
      "Ocp-Apim-Subscription-Key", "DD-APPLICATION-KEY", "X-App-Key", "AccountKey", "masterKey",
      "X-Functions-Key", "Fastly-Key", "X-Auth", "X-Session", "oauth_verifier", "db_pw", "passkey",
    ])
  func serviceKeys(name: String) {
    #expect(redactor.redacted(header: "S", named: name) == "REDACTED")
    #expect(redactor.redacted(form: "\(name)=S") == "\(name)=REDACTED")
  }

  @Test("the time for a text is linear in its length, whatever signs of hosts are in it")
  func linearTime() {
    func texts(_ size: Int) -> [String] {
      let hosts = String(repeating: "/://a:b", count: size / 7)
      return [
        "http://a:b" + String(repeating: "/", count: size) + "@h", hosts, "?u=" + hosts,
        "?u=//a" + String(repeating: "%2F", count: size / 3),
        "token: a" + String(repeating: ", ", count: size / 2),
        String(repeating: "//a:b#/?", count: size / 8),
        "?" + String(repeating: "//a:b/&", count: size / 7),
        "//a:b" + String(repeating: "/40", count: size / 3),
        String(repeating: "//a:b/ ", count: size / 7), String(repeating: "a:[", count: size / 3),
      ]
    }
    for (short, long) in zip(texts(512), texts(16 * 512)) {
      for kind in [Redactor.redacted(url:), Redactor.redacted(form:), Redactor.redacted(text:)] {
        var times = (short: Int.max / 64, long: Int.max)
        // Another machine may have had the processor meanwhile, and its time counts.
        for round in 0..<10 where round < 3 || times.long >= 64 * times.short {
          times.short = min(times.short, processorTime { _ = kind(redactor)(short) })
          times.long = min(times.long, processorTime { _ = kind(redactor)(long) })
        }
        // 16 times the bytes would take 256 times as long if each were read with all behind it.
        #expect(times.long < 64 * times.short, "\(long.prefix(20)): \(times) ns")
      }
    }
  }

  /// The processor's time for something, in nanoseconds: what else runs does not count.
  private func processorTime(_ body: () -> Void) -> Int {
    func now() -> Int {
      var time = timespec()
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
      return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
    let start = now()
    body()
    return now() - start
  }

  @Test("no two of the standard rules are for the same names")
  func standardRules() {
    let names = Redactor.standardRules.map(\.name)
    #expect(Set(names).count == names.count)
    for rule in Redactor.standardRules {
      let others = Redactor.standardRules.filter { $0.name != rule.name }
      let name = rule.name.filter { $0 != "*" }
      // What another rule redacts needs no rule of its own.
      let redactor = Redactor(base: others)
      #expect(redactor.redacted(form: "\(name)=1") == "\(name)=1", "\(rule.name)")
    }
  }

  @Test("header fields are redacted by their names, and URLs in others")
  func headers() {
    #expect(redactor.redacted(header: "Bearer abc", named: "Authorization") == "REDACTED")
    #expect(redactor.redacted(header: "a=b; c=d", named: "set-cookie") == "REDACTED")
    #expect(redactor.redacted(header: "abc", named: "X-Api-Key") == "REDACTED")
    #expect(redactor.redacted(header: "text/html", named: "Accept") == "text/html")
    let location = redactor.redacted(header: "https://a:b@h/?code=1&token=abc", named: "location")
    #expect(location == "https://REDACTED@h/?code=1&token=REDACTED")
    let custom = redactor.redacted(header: "id=7, token = abc", named: "x-custom")
    #expect(custom == "id=7, token =REDACTED")
  }

  @Test(
    "fields of JSON are redacted by their names",
    arguments: [
      (#"{"password":"x"}"#, #"{"password":"REDACTED"}"#),
      (#"{"a":1,"PassWord" : "x\"y" ,"b":2}"#, #"{"a":1,"PassWord" :"REDACTED","b":2}"#),
      (##"{"\u0070assword":"x"}"##, ##"{"\u0070assword":"REDACTED"}"##),
      (#"{"token":{"a":["x",{"b":"}"}]},"c":3}"#, #"{"token":"REDACTED","c":3}"#),
      (#"{"pin":1234}"#, #"{"pin":"REDACTED"}"#),
      (
        #"[{"pin":1},{"pin":2}]"#,
        #"[{"pin":"REDACTED"},{"pin":"REDACTED"}]"#
      ),
      (#"{"a":"password","b":["token"]}"#, #"{"a":"password","b":["token"]}"#),
      (#"{"a":"pass","b":"word\":\"x"}"#, #"{"a":"pass","b":"word\":\"x"}"#),
      // What is no JSON, or not whole.
      (#"{"password":"x"#, #"{"password":"REDACTED""#), (#"{"password":"#, #"{"password":"#),
      (#"{"a":"password":"x"}"#, #"{"a":"password":"REDACTED"}"#),
      (#"")]}'{"token":"x"}"#, #"")]}'{"token":"REDACTED"}"#),
      (#"{"token":"x"}{"token":'y, z'}"#, #"{"token":"REDACTED"}{"token":"REDACTED"}"#),
      // A value that goes on where it seems to end.
      (#"{"password":"hun"ter,S","n":1}"#, #"{"password":"REDACTED","n":1}"#),
      (#"{"password":"hun", S","n":1}"#, #"{"password":"REDACTED""#),
      (#"{"token":S1,S2}"#, #"{"token":"REDACTED"}"#),
      (#"{"token":S1, S2 ,"n":1}"#, #"{"token":"REDACTED","n":1}"#),
      (#"{"token":S}S,"n":1}"#, #"{"token":"REDACTED","n":1}"#),
      (#"{"token":S}-S,"n":1}"#, #"{"token":"REDACTED","n":1}"#),
      (#"{"password":"a" S","n":1}"#, #"{"password":"REDACTED","n":1}"#),
      (#"{"token":{"a":"b"c":S"},"n":1}"#, #"{"token":"REDACTED""#),
      (#"{"log":"{\"token\":\"a"b,S\"}","n":1}"#, #"{"log":"{\"token\":\"REDACTED\"","n":1}"#),
      // White space behind the value stays.
      (
        "{\n  \"token\": \"x\" ,\r\n\t\"n\": 1\n}\n{\"token\":1}\n",
        "{\n  \"token\":\"REDACTED\",\r\n\t\"n\": 1\n}\n{\"token\":\"REDACTED\"}\n"
      ),
      (#"{"token":"x",}"#, #"{"token":"REDACTED",}"#), (#"{"token":,"n":1}"#, #"{"token":,"n":1}"#),
      // A number of JSON in a text has quotes of that JSON.
      (#"{"log":"{\"pin\":12}"}"#, #"{"log":"{\"pin\":\"REDACTED\"}"}"#),
      (#"{"log":"{\"pin\":1,\"n\":2}","z":3}"#, #"{"log":"{\"pin\":\"REDACTED\",\"n\":2}","z":3}"#),
      (
        #"{"a":"{\"b\":\"{\\\"pin\\\":12}\"}"}"#,
        #"{"a":"{\"b\":\"{\\\"pin\\\":\\\"REDACTED\\\"}\"}"}"#
      ),
      (#"{"pin\\":12}"#, #"{"pin\\":"REDACTED"}"#),
      // JSON in a text.
      (
        #"{"body":"{\"n\":1,\"password\":\"x, y\"}","z":1}"#,
        #"{"body":"{\"n\":1,\"password\":\"REDACTED\"","z":1}"#
      ),
      (
        ##"{"body":"{\u0022n\u0022:1,\u0022password\u0022:\u0022x, y\u0022}","z":1}"##,
        ##"{"body":"{\u0022n\u0022:1,\u0022password\u0022:\"REDACTED\"","z":1}"##
      ),
      (
        ##"{"body":"{\\u0022token\\u0022 :\\u0022x\\u0022}"}"##,
        ##"{"body":"{\\u0022token\\u0022 :\"REDACTED\""}"##
      ),
      // Between a name and its colon, such JSON has white space with escapes.
      (#"{"a":"{\"pin\"\n:\"x\"}"}"#, #"{"a":"{\"pin\"\n:\"REDACTED\""}"#),
      (#"{"a":"{\"pin\" \r\n\t :12}"}"#, #"{"a":"{\"pin\" \r\n\t :\"REDACTED\"}"}"#),
      (#"{"a":"\\\"pin\\\" \\n:\n\\\"x\\\""}"#, #"{"a":"\\\"pin\\\" \\n:\\\"REDACTED\\\""}"#),
      (#"{"a":"{\"x\"\"pin\":1}"}"#, #"{"a":"{\"x\"\"pin\":\"REDACTED\"}"}"#),
      (##"{"a":"{\"x\"\u0070in\":1}"}"##, ##"{"a":"{\"x\"\u0070in\":\"REDACTED\"}"}"##),
      (#"{"a":"\"pin\"\\","token":"x"}"#, #"{"a":"\"pin\"\\","token":"REDACTED"}"#),
      (#"{"a":"\"pin\"\x:1","n":1}"#, #"{"a":"\"pin\"\x:1","n":1}"#),
      (
        ##"{"a":"\u0022token\u0022, b","c":"\u0022\u002","token":"x"}"##,
        ##"{"a":"\u0022token\u0022, b","c":"\u0022\u002","token":"REDACTED"}"##
      ),
    ])
  func json(text: String, redacted: String) {
    let bytes = Array(text.utf8)
    #expect(String(decoding: redactor.redacted(json: bytes), as: UTF8.self) == redacted)
    for cut in bytes.indices {
      let found = RedactedOutput.with(capacity: Redactor.capacity(for: bytes.count)) { output in
        var redaction = JSONRedaction(redactor.compiled)
        for piece in [bytes[..<cut], bytes[cut...]] {
          piece.withUnsafeBytes { redaction.append($0, to: &output) }
        }
        redaction.finish(to: &output)
        return String(decoding: output.bytes, as: UTF8.self)
      }
      #expect(found == redacted, "cut at \(cut)")
    }
  }

  @Test("what stands before a name in broken JSON does not hide it")
  func hiddenNames() {
    for text in [
      ##"a &to?ken=o[":"{"\a\)2"\u0073id" :"5ecre7""##, ##"token=":+"2},"\u0073id" :"5ecre7""##,
      ##"{"token":x\y "z","\u0073id" :"5ecre7"}"##,
      ##""token":"x""sid" :"5ecre7""##, ##""token":[1}]"sid" :"5ecre7""##,
    ] {
      let found = String(decoding: redactor.redacted(json: Array(text.utf8)), as: UTF8.self)
      #expect(!found.contains("5ecre7"), "\(text): \(found)")
    }
  }

  @Test("the newest rule says what becomes of a value")
  func rules() {
    let redactor = Redactor(rules: [
      .keep("key"), .drop("x-trace*"), .hash("*account*"), .redact("name"),
    ])
    let url = redactor.redacted(url: "/p?key=1&account=2&my-account=2&name=3&token=4&xtraceid=5")
    let parts = url.split(separator: "&")
    #expect(parts.count == 6 && parts[0] == "/p?key=1" && parts[3] == "name=REDACTED")
    #expect(parts[1].hasPrefix("account=hash:") && parts[1].utf8.count == 13 + 16)
    #expect(parts[1].dropFirst(8) == parts[2].dropFirst(11))
    #expect(parts[4] == "token=REDACTED" && parts[5] == "xtraceid=")
    #expect(redactor.redacted(header: "5", named: "X-Trace-Id") == nil)
    let json = redactor.redacted(json: Array(#"{"account": "2","xtrace":[1,2]}"#.utf8))
    let text = String(decoding: json, as: UTF8.self)
    #expect(text.hasPrefix(#"{"account":"hash:"#) && text.hasSuffix(#"","xtrace":null}"#))
  }

  @Test("with everything unlisted redacted, only what a rule keeps is recorded")
  func unlisted() {
    let redactor = Redactor(
      rules: [.keep("page")], unlistedHeaders: .drop, unlistedValues: .redact)
    #expect(redactor.redacted(url: "/p?page=2&q=x") == "/p?page=2&q=REDACTED")
    #expect(redactor.redacted(header: "x", named: "accept") == nil)
    #expect(redactor.redacted(header: "2", named: "page") == "2")
    #expect(redactor.redacted(form: "q=a&page=2") == "q=REDACTED&page=2")
  }

  @Test("messages of errors are redacted")
  func texts() {
    let text = "could not load https://ann:pw@h/p?x=1&token=abc"
    #expect(
      redactor.redacted(text: text) == "could not load https://REDACTED@h/p?x=1&token=REDACTED")
    #expect(redactor.redacted(text: "token=abc def") == "token=REDACTED")
  }

  @Test(
    "a value in the query of a URL in a message ends with the URL, and the rest is kept",
    arguments: [
      ("GET https://h/p?token=S: refused", "GET https://h/p?token=REDACTED refused"),
      ("<https://h?a=1&token=S> is gone", "<https://h?a=1&token=REDACTED> is gone"),
      (#"load "//h/?u=//b/?sid=S" pwd: S"#, #"load "//h/?u=//b/?sid=REDACTED" pwd: REDACTED"#),
      (#""https://h/#token=S"pwd=S S"#, #""https://h/#token=REDACTED"pwd=REDACTED"#),
      // Not in a query: who knows where it ends?
      ("https://h/p;pwd=S S", "https://h/p;pwd=REDACTED"),
      ("https://h/ gone? pwd=S S", "https://h/ gone? pwd=REDACTED"),
      ("/p?token=S S", "/p?token=REDACTED"),
      // Nor where it is quoted, or stands behind the URL.
      (#"curl https://h/p?token="S" failed"#, "curl https://h/p?token=REDACTED"),
      (#"curl https://h/p?a=1&password="S S" x&b=2"#, "curl https://h/p?a=1&password=REDACTED"),
      ("Host=h;Username=a;Password=S#S;Database=x", "Host=h;Username=a;Password=REDACTED"),
      ("Host=h;Password=S&S", "Host=h;Password=REDACTED"),
      (#"Server=h;Pwd="S#S""#, "Server=h;Pwd=REDACTED"),
      ("curl https://h/p?token='S S' failed", "curl https://h/p?token=REDACTED"),
      ("run `https://h/p?token=`S S``", "run `https://h/p?token=REDACTED"),
      (#""curl \"https://h/p?token=\"S S\"\"""#, #""curl \"https://h/p?token=REDACTED"#),
      ("GET https://h/p?token= S", "GET https://h/p?token=REDACTED"),
      ("GET https://h/p?token=\tS S", "GET https://h/p?token=REDACTED"),
      ("GET https://h/p?token=<S S>", "GET https://h/p?token=REDACTED"),
      (#"GET https://h/p?credentials={"key": "S S"}"#, "GET https://h/p?credentials=REDACTED"),
      (#"GET https://h/p?tokens=["S", "S"]"#, "GET https://h/p?tokens=REDACTED"),
      ("GET https://h/p?token=(S S)", "GET https://h/p?token=REDACTED"),
    ])
  func urlsInTexts(text: String, redacted: String) {
    #expect(redactor.redacted(text: text) == redacted)
  }

  @Test(
    "a message's values behind a name and a colon are redacted",
    arguments: [
      ("Authorization: Bearer S; Cookie: sid=X", "Authorization: REDACTED; Cookie: REDACTED"),
      (#"[authorization: "Bearer S", x: 1]"#, "[authorization: REDACTED, x: 1]"),
      (#"["Authorization": "Bearer S", "x": "1"]"#, #"["Authorization": REDACTED, "x": "1"]"#),
      (#"password: "S, \"; S2" at 7"#, "password: REDACTED"),
      (#"Login(pwd: "S", user: "ann")"#, #"Login(pwd: REDACTED, user: "ann")"#),
      (#"{token:S} {"token":["S","S"],"a":1}"#, #"{token:REDACTED} {"token":REDACTED,"a":1}"#),
      (#"token: Optional("S, S"), a: 1"#, "token: REDACTED, a: 1"),
      (#"{\"token\":\"S, S\",\"a\":1}"#, #"{\"token\":REDACTED,\"a\":1}"#),
      (#"reason="pwd: 'S, S'", a"#, #"reason="pwd: REDACTED, a"#),
      // Prefixes of quotes.
      ("{u'token': u'S, S', 'a': 1}", "{u'token': REDACTED, 'a': 1}"),
      (#"{"token": b"S, S", "pwd":rb"S; S","a":1}"#, #"{"token": REDACTED, "pwd":REDACTED,"a":1}"#),
      (#"token: [L"S], S", f'S], S'], a: 1"#, "token: REDACTED, a: 1"),
      ("token: S'S, a: club's", "token: REDACTED, a: club's"),
      ("PASS_WORD : S\nx: 1", "PASS_WORD : REDACTED\nx: 1"),
      (#"{"message":"pwd: S"}"#, #"{"message":"pwd: REDACTED}"#),
      // What a comma or a semicolon goes on with.
      ("Cookie: a=S; b=S; Secure, a: 1", "Cookie: REDACTED; Secure, a: 1"),
      ("Authorization: Digest a=\"S\", b=\"S\"\nx", "Authorization: REDACTED\nx"),
      // What stands behind a colon or a bracket may be a name of its own, or the end of one.
      ("error:pin:S", "error:pin:REDACTED"), ("creds:[pwd: S], a", "creds:[pwd: REDACTED], a"),
      ("x:key=S", "x:key=REDACTED"), ("session[id]: S", "session[id]: REDACTED"),
      ("hyper::session: closed", "hyper::session: closed"),
      // Without a name of a rule.
      ("error: connection refused", "error: connection refused"),
      (
        "at 12:30, h:80; no password, no key (code: 7)",
        "at 12:30, h:80; no password, no key (code: 7)"
      ),
      ("the token is wrong: https://h/p", "the token is wrong: https://h/p"),
      ("token:", "token:"), ("token: ; a", "token: ; a"),
    ])
  func namedTexts(text: String, redacted: String) {
    #expect(redactor.redacted(text: text) == redacted)
  }

  @Test("equal values have equal hashes, wherever they are and whatever is around them")
  func equalHashes() throws {
    let redactor = Redactor(rules: [.hash("account")])
    let expected = try #require(redactor.redacted(header: "4 2", named: "account"))
    #expect(redactor.redacted(form: "account=4 2&b=1") == "account=\(expected)&b=1")
    #expect(redactor.redacted(text: "account: 4 2 ; b") == "account: \(expected); b")
    #expect(redactor.redacted(text: #"account : "4 2" , b"#) == "account : \(expected), b")
    for json in [
      #"{"account":"4 2"}"#, #"{"account": "4 2"}"#, "{\"account\":\n \"4 2\" \n}",
    ] {
      let bytes = redactor.redacted(json: Array(json.utf8))
      let found = String(decoding: bytes, as: UTF8.self)
      #expect(found == #"{"account":"\#(expected)"}"#, "\(json)")
    }
    let number = try #require(redactor.redacted(header: "42", named: "account"))
    for json in [#"{"account":42}"#, "{\"account\": 42\n}", #"{"account":"42"}"#] {
      let bytes = redactor.redacted(json: Array(json.utf8))
      #expect(String(decoding: bytes, as: UTF8.self) == #"{"account":"\#(number)"}"#, "\(json)")
    }
    let objects = [#"{"account":{"a":["4 2"]}}"#, "{\"account\" : { \"a\" :\n[ \"4 2\"] } }"].map {
      String(decoding: redactor.redacted(json: Array($0.utf8)), as: UTF8.self).suffix(18)
    }
    #expect(objects[0] == objects[1])
  }

  @Test("a hash in JSON in a text has the quotes of that JSON")
  func hashInText() {
    let redactor = Redactor(rules: [.hash("account")])
    let bytes = redactor.redacted(json: Array(#"{"body":"{\"account\":\"42\"}","z":1}"#.utf8))
    let text = String(decoding: bytes, as: UTF8.self)
    #expect(text.hasPrefix(#"{"body":"{\"account\":\"hash:"#) && text.hasSuffix(#"\"","z":1}"#))
  }

  @Test(
    "URLs in forms are redacted",
    arguments: [
      ("next=https%3A%2F%2Fann%3Apw%40h%2F&b=1", "next=https%3A%2F%2FREDACTED@h%2F&b=1"),
      (
        "b=https://ann:pw@h/?token=1&c=//ann@h",
        "b=https://REDACTED@h/?token=REDACTED&c=//REDACTED@h"
      ),
      ("b=https%3A%2F%2Fh%3Ftoken%3D1&c=2", "b=https%3A%2F%2Fh%3Ftoken%3DREDACTED&c=2"),
      ("a=//h&b=c@d&e=https://h&f=g@h", "a=//h&b=c@d&e=https://h&f=g@h"),
      ("pass?word=1&mail=ann@h", "pass?word=REDACTED&mail=ann@h"),
    ])
  func urlsInForms(form: String, redacted: String) {
    #expect(redactor.redacted(form: form) == redacted)
  }

  @Test("however many short values there are, a text is redacted as a whole")
  func manyShortValues() {
    let redactor = Redactor(rules: [.hash("a")], unlistedValues: .hash)
    let json = Array(repeating: #"{"a":1}"#, count: 100).joined(separator: ",")
    let text = String(decoding: redactor.redacted(json: Array(json.utf8)), as: UTF8.self)
    #expect(text.utf8.count == 100 * 29 + 99 && text.hasSuffix("\"}"))
    let pairs = Array(repeating: "=1", count: 500).joined(separator: "&")
    let count = 500 * 22 + 499
    #expect(redactor.redacted(form: pairs).utf8.count == count)
    #expect(redactor.redacted(text: "//h?" + pairs).utf8.count == count + 4)
    #expect(redactor.redacted(url: "?" + pairs).utf8.count == count + 1)
  }

  @Test("no secret comes out, whatever its encoding, its place and what is around it")
  func secretsDoNotComeOut() {
    var random = SeededGenerator.fresh()
    let names = ["password", "api_key", "accessToken", "client-secret", "sid"]
    for round in 0..<20_000 {
      let name = SecretWriter.name(names.randomElement(using: &random) ?? "", &random)
      let url = SecretWriter.url(name, &random)
      let found = redactor.redacted(url: url)
      #expect(!found.contains(SecretWriter.secret), "round \(round): \(url)")
      let json = SecretWriter.json(SecretWriter.jsonName("password", &random), &random)
      let text = String(decoding: redactor.redacted(json: Array(json.utf8)), as: UTF8.self)
      #expect(!text.contains(SecretWriter.secret), "round \(round): \(json)")
      let inner = SecretWriter.inText(json)
      let outer = String(decoding: redactor.redacted(json: Array(inner.utf8)), as: UTF8.self)
      #expect(!outer.contains(SecretWriter.secret), "round \(round): \(inner)")
      let form = "a=1&q=" + SecretWriter.encoded(SecretWriter.json("password", &random), &random)
      let pairs = redactor.redacted(form: form) + redactor.redacted(url: "/?" + form)
      #expect(!pairs.contains(SecretWriter.secret), "round \(round): \(form)")
    }
  }
}

/// Writes secrets in the ways that there are.
private enum SecretWriter {
  static let secret = "5ecre7"

  /// A name, percent-encoded up to twice, in any case.
  static func name(_ name: String, _ random: inout SeededGenerator) -> String {
    name.utf8.map { byte -> String in
      let character = String(UnicodeScalar(byte))
      switch Int.random(in: 0..<6, using: &random) {
      case 0: return "%" + hex(byte, 2)
      case 1: return "%25" + hex(byte, 2)
      case 2: return character.uppercased()
      default: return character
      }
    }.joined()
  }

  /// JSON as a form has it: letters and digits, and so the secret, are as they were.
  static func encoded(_ json: String, _ random: inout SeededGenerator) -> String {
    json.map { $0.isLetter || $0.isNumber ? String($0) : name(String($0), &random) }.joined()
  }

  static func jsonName(_ name: String, _ random: inout SeededGenerator) -> String {
    name.utf8.map { byte -> String in
      let character = String(UnicodeScalar(byte))
      return Int.random(in: 0..<3, using: &random) == 0
        ? "\\u" + hex(byte, 4) : Bool.random(using: &random) ? character.uppercased() : character
    }.joined()
  }

  static func url(_ name: String, _ random: inout SeededGenerator) -> String {
    let noise = ["x=1", "page=%zz", "", "=", "a", "%", "?", "q=é", "t=12:30", "u=//h", "w=@"]
    var pairs = (0..<Int.random(in: 0..<4, using: &random)).map { _ in
      noise.randomElement(using: &random) ?? ""
    }
    let tail = ["", ";x", "%26", "?", "=", "%", "//h", "@"].randomElement(using: &random) ?? ""
    pairs.insert(
      "\(name)=\(secret)\(tail)\(secret)", at: Int.random(in: 0...pairs.count, using: &random))
    let user = Bool.random(using: &random) ? "ann:\(secret)%2F\(secret)@" : ""
    let schemes = ["https://", "https:///", "//", "https:\\\\", "s3://https://", "p://h://"]
    return (schemes.randomElement(using: &random) ?? "") + "\(user)h/p"
      + (Bool.random(using: &random) ? "?" : "#") + pairs.joined(separator: "&")
  }

  static func json(_ name: String, _ random: inout SeededGenerator) -> String {
    let values = [
      "\"\(secret)\"", "\"\\\"\(secret)\"", "[1,\"\(secret)\"]", "{\"a\":{\"b\":\"\(secret)]\"}}",
      "\"a,b}\(secret)", "[[\"\(secret)", " \n\"\(secret)\\\\\"", "\"}\",\"x\" : 1",
    ]
    let before = ["", "\"", "\"a\":\"b\\\"\",", "[1,2],", "'", "\"x\":\"y\",", "\"é\":null,"]
    let value = values.randomElement(using: &random) ?? ""
    let isSpaced = Bool.random(using: &random)
    return "{" + (before.randomElement(using: &random) ?? "") + "\"\(name)\""
      + (isSpaced ? " \t: " : ":") + value + "}"
  }

  /// JSON as a text of JSON has it.
  static func inText(_ json: String) -> String {
    let escaped = json.unicodeScalars.map { scalar -> String in
      switch scalar {
      case "\"", "\\": "\\\(scalar)"
      case "\t": "\\t"
      case "\n": "\\n"
      default: "\(scalar)"
      }
    }
    return "{\"body\":\"" + escaped.joined() + "\"}"
  }

  private static func hex(_ byte: UInt8, _ digits: Int) -> String {
    let text = String(byte, radix: 16, uppercase: byte % 2 == 0)
    return String(repeating: "0", count: digits - text.utf8.count) + text
  }
}
