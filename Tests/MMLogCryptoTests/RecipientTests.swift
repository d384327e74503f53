#if Encryption
  import MMLogCrypto
  import Testing

  @Suite struct RecipientTests {
    // age's README and specification have these.
    private let recipient = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"

    @Test("a recipient is read and printed as it is") func aRecipientIsReadAndPrinted() throws {
      #expect(try Recipient(recipient).description == recipient)
    }

    @Test("each wrong character is found") func eachWrongCharacterIsFound() {
      for index in recipient.indices {
        var text = recipient
        text.replaceSubrange(index...index, with: recipient[index] == "q" ? "p" : "q")
        #expect(throws: RecipientError.self, "\(text)") { try Recipient(text) }
      }
      for text in ["", "age1", "age", "1", recipient + "q", String(recipient.dropLast()), "age1é"] {
        #expect(throws: RecipientError.self, "\(text)") { try Recipient(text) }
      }
    }

    @Test("a secret key in a recipient's place is refused, and is not in the error")
    func aSecretKeyIsRefused() throws {
      let secret = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX"
      // Also in a file as age-keygen writes it.
      for text in [secret, secret.lowercased(), "# created: today\n\(secret)\n"] {
        let error = #expect(throws: RecipientError.self) { try Recipient(text) }
        #expect(try #require(error).description.uppercased().contains("GFPYY") == false)
      }
    }

    @Test("recipients and identities of other types are said to be that, without a secret")
    func otherTypes() throws {
      for text in [
        "age1yubikey1qwt50d05nh5vutpdzmlg5wn80xq5negm4uj9ghv0snvdd3yysf5yw3rhl3t",
        "age1pq1qqqqqqqqqqqqqqqqqqqq",
        "age1tag1qt8lw0ual6avlwmwatk888yqnmdamm7xfd0wak53ut6elz5",
      ] {
        let error = #expect(throws: RecipientError.self) { try Recipient(text) }
        #expect(try #require(error).description.contains("only X25519's are supported"))
      }
      for text in ["AGE-PLUGIN-YUBIKEY-1GFPYYSJZ", "AGE-SECRET-KEY-PQ-1GFPYYSJZ"] {
        let error = #expect(throws: CryptoError.self) { try Identity(text) }
        let said = try #require(error).description
        #expect(said.contains("only X25519's are supported") && !said.contains("GFPYY"))
      }
      // A one in place of another character is a typing error.
      for text in [recipient + "1", "age1ql1" + recipient.dropFirst(7)] {
        let error = #expect(throws: RecipientError.self) { try Recipient(text) }
        #expect(try #require(error).description.contains("its checksum has to be right"))
      }
    }

    @Test("a file with several identities is read, with comments and empty lines")
    func aFileWithSeveralIdentitiesIsRead() throws {
      let secret = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX"
      let identities = try Identity.all(in: "# created: today\n\(secret)\r\n\n\(secret)")
      #expect(identities.map(\.recipient.description).allSatisfy { $0.hasPrefix("age1") })
      #expect(identities.count == 2)
    }

    @Test("what is wrong with a file of identities is said with its line, without the secret")
    func aWrongFileOfIdentitiesIsRefused() throws {
      let wrong = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEY"
      let error = #expect(throws: CryptoError.self) { try Identity.all(in: "#\n\(wrong)") }
      let text = try #require(error).description
      #expect(text.hasPrefix("line 2: ") && !text.contains("GFPYY"))
      #expect(throws: CryptoError.self) { try Identity.all(in: "# nothing\n") }
    }
  }
#endif
