#if Encryption
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
