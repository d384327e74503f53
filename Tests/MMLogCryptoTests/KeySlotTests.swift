#if Encryption
  import Foundation
  import MMLogCrypto
  import MMLogSystem
  import TestSupport
  import Testing

  /// The judge is Debian's `age`, where it is installed.
  @Suite struct KeySlotTests {
    private static let secrets = [
      "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX"
    ]
    private let identities: [Identity]
    private let stranger: [Identity]
    private let key: SecretKey

    init() throws {
      identities = try Identity.all(in: Self.secrets[0])
      stranger = try Identity.all(in: Self.generated())
      key = try SecretKey.random()
    }

    /// A new identity's text, of age's own making.
    private static func generated() throws -> String {
      try #require(PipedProgram.output(of: ["age-keygen"]), "age is not installed: Tools/setup")
    }

    @Test("each recipient opens a slot, and nobody else") func eachRecipientOpensASlot() throws {
      let others = try Identity.all(in: Self.generated())
      let slot = try KeySlot.encrypt(key, for: (identities + others).map(\.recipient))
      #expect(try KeySlot.decrypt(slot, with: identities).bytes == key.bytes)
      #expect(try KeySlot.decrypt(slot, with: stranger + others).bytes == key.bytes)
      #expect(throws: CryptoError.wrongIdentity) { try KeySlot.decrypt(slot, with: stranger) }
      #expect(throws: CryptoError.wrongIdentity) { try KeySlot.decrypt(slot, with: []) }
    }

    @Test("a slot for more recipients than anybody writes is refused before it is tried")
    func aSlotForTooManyRecipientsIsRefused() throws {
      let recipients = [Recipient](
        repeating: identities[0].recipient, count: KeySlot.mostRecipients)
      let slot = try KeySlot.encrypt(key, for: recipients)
      #expect(throws: CryptoError.wrongIdentity) { try KeySlot.decrypt(slot, with: stranger) }
      let mark = Array("\n-> ".utf8)
      let first = try #require(slot.firstRange(of: mark)).lowerBound
      let second = try #require(slot[(first + 1)...].firstRange(of: mark)).lowerBound
      let longer = Array(slot[..<second] + slot[first...])
      #expect(throws: CryptoError.malformed("it is no file of age with a key in it")) {
        try KeySlot.decrypt(longer, with: stranger)
      }
    }

    @Test("age opens what is written") func ageOpensWhatIsWritten() throws {
      let directory = TemporaryDirectory()
      let text = try Self.generated()
      let identities = try Identity.all(in: text)
      directory.put("identity", text)
      directory.put(
        "slot", try KeySlot.encrypt(key, for: (stranger + identities).map(\.recipient)))
      let printed = PipedProgram.output(of: [
        "sh", "-c",
        "age --decrypt --identity \(directory.path)/identity \(directory.path)/slot | od -An -v -tx1",
      ])
      #expect(try Array(hex: #require(printed)) == key.bytes)
    }

    /// Each vector says who opens it and what comes of that. Its content is no key of 32 bytes, so
    /// one that is opened is known by the complaint about just that.
    @Test("age's test vectors are opened or refused as they say")
    func ageTestVectors() throws {
      guard let folder = ProcessInfo.processInfo.environment["MMLOG_AGE_VECTORS"] else {
        print("SKIPPED: MMLOG_AGE_VECTORS names no copy of age/testdata of C2SP's CCTV")
        return
      }
      var counts: [String: Int] = [:]
      for name in try Folder.names(folder).sorted() {
        let bytes = try Folder.read("\(folder)/\(name)")
        let end = try #require(bytes.firstRange(of: Array("\n\n".utf8)), "\(name)")
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).split(separator: "\n")
        let fields = lines.map { $0.split(separator: ": ", maxSplits: 1).map(String.init) }
        // What a key slot never is.
        if fields.contains(where: { ["armored", "compressed"].contains($0[0]) }) { continue }
        let texts = fields.filter { $0[0] == "identity" }.map { $0[1] }
        guard let identities = try? texts.flatMap({ try Identity.all(in: $0) }) else { continue }
        let file = Array(bytes[end.upperBound...])
        let isOpened = fields.contains(["expect", "success"]) && file.count <= KeySlot.largest
        let error = #expect(throws: CryptoError.self, "\(name)") {
          try KeySlot.decrypt(file, with: identities)
        }
        let isForAnother = fields.contains { $0[0] == "passphrase" }
        let wasOpened = error == .malformed("its key has a wrong size")
        #expect(wasOpened == (isOpened && !isForAnother), "\(name): \(error.map { "\($0)" } ?? "")")
        counts[wasOpened ? "opened" : "refused", default: 0] += 1
      }
      print("age's test vectors: \(counts)")
      #expect(counts["opened", default: 0] > 5 && counts["refused", default: 0] > 30)
    }

    @Test("what age writes is opened, with recipients of other types in it")
    func whatAgeWritesIsOpened() throws {
      let directory = TemporaryDirectory()
      let text = try Self.generated()
      let identities = try Identity.all(in: text)
      directory.put("key", key.bytes)
      let script = """
        cd \(directory.path) && ssh-keygen -q -t ed25519 -N '' -f other </dev/null \
        && age -r \(identities[0].recipient) -R other.pub -r \(stranger[0].recipient) -o slot key && echo done
        """
      _ = try #require(PipedProgram.output(of: ["sh", "-c", script]))
      let slot = try directory.bytes("slot")
      #expect(try KeySlot.decrypt(slot, with: identities).bytes == key.bytes)
    }

    @Test(
      "a stanza that is not as age has them is refused, whoever it is for",
      arguments: ["other  argument\n\n", "other\nAA=\n", "other\nAB\n", "caf\u{e9}\n\n"])
    func malformedStanzas(_ stanza: String) throws {
      let version = Array("age-encryption.org/v1\n".utf8)
      let slot = try KeySlot.encrypt(key, for: identities.map(\.recipient))
      let changed = version + Array("-> \(stanza)".utf8) + slot.dropFirst(version.count)
      #expect(throws: CryptoError.malformed("it is no file of age with a key in it")) {
        try KeySlot.decrypt(changed, with: identities)
      }
    }

    @Test("each bit that is changed in a slot is found, and each cut")
    func eachChangeIsFound() throws {
      let slot = try KeySlot.encrypt(key, for: identities.map(\.recipient))
      for bit in 0..<slot.count * 8 {
        #expect(throws: CryptoError.self, "bit \(bit)") {
          try KeySlot.decrypt(slot.flipping(bit: bit), with: identities)
        }
      }
      for count in 0..<slot.count {
        #expect(throws: CryptoError.self, "\(count) bytes") {
          try KeySlot.decrypt(Array(slot.prefix(count)), with: identities)
        }
      }
      #expect(throws: CryptoError.self) { try KeySlot.decrypt(slot + [0], with: identities) }
    }

    @Test("no two slots of a key are the same") func noTwoSlotsAreTheSame() throws {
      let slots = try (0..<3).map { _ in
        try KeySlot.encrypt(key, for: identities.map(\.recipient))
      }
      #expect(Set(slots).count == 3)
    }
  }
#endif
