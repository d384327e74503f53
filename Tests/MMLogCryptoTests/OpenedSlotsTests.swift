#if Encryption
  import MMLogCrypto
  import MMLogSystem
  import TestSupport
  import Testing

  /// What a reader of sealed values spends on slots that are for others.
  @Suite struct OpenedSlotsTests {
    private let (own, other): (Identity, Identity)
    private static let text = Array("a text".utf8)

    init() throws {
      let identities = try (0..<2).map { _ in
        try Identity.all(in: #require(PipedProgram.output(of: ["age-keygen"]), "age is missing"))[0]
      }
      (own, other) = (identities[0], identities[1])
    }

    /// A sealed value, with a slot of its own for so many recipients, which are one.
    private func value(for identity: Identity, _ count: Int = 1) throws -> [UInt8] {
      let slotted = try SlottedKey(for: Array(repeating: identity.recipient, count: count))
      let nonce = [UInt8](repeating: 7, count: Cryptography.nonceSize)
      let sealed = try Self.text.withUnsafeBytes {
        try Cryptography.encrypt($0, key: slotted.key, nonce: nonce)
      }
      let size = withUnsafeBytes(of: UInt32(slotted.slot.count).littleEndian) { Array($0) }
      return size + slotted.slot + nonce + sealed
    }

    private func isOpened(_ value: [UInt8], with slots: OpenedSlots) -> Bool {
      value.withUnsafeBytes { SealedValue.open($0, with: slots) } == Self.text
    }

    @Test("each stanza for others counts, and at the bound no new slot is tried")
    func eachStanzaForOthersCounts() throws {
      for (count, isTried) in [(9, true), (10, false)] {
        let slots = OpenedSlots(for: [own], budget: 100)
        for _ in 0..<count { #expect(try !isOpened(value(for: other, 9), with: slots)) }
        #expect(try isOpened(value(for: own), with: slots) == isTried, "\(count) slots")
      }
    }

    @Test("each identity counts") func eachIdentityCounts() throws {
      let (third, slots) = (try value(for: own), OpenedSlots(for: [other, other], budget: 3))
      #expect(!isOpened(third, with: slots))
      #expect(try !isOpened(value(for: other), with: slots))
    }

    @Test("slots that are open stay so") func slotsThatAreOpenStaySo() throws {
      let (first, slots) = (try value(for: own), OpenedSlots(for: [own], budget: 1))
      #expect(isOpened(first, with: slots))
      #expect(try !isOpened(value(for: other), with: slots))
      #expect(try !isOpened(value(for: own), with: slots))
      #expect(isOpened(first, with: slots))
    }
  }
#endif
