import MMLogCrypto
import MMLogFormat
import Testing

/// The area of an encrypted ring that has its key for its recipients.
@Suite struct KeySlotPlacesTests {
  /// A key slot for `count` recipients, as long as a real one.
  private func key(_ count: Int) -> RingKeySlot {
    let recipients = (0..<count).map {
      Recipient(publicKey: [UInt8](repeating: UInt8($0), count: 32))
    }
    return RingKeySlot([UInt8](repeating: 7, count: 134 + 98 * count), for: recipients)
  }

  private func read(_ area: [UInt8]) -> [RingKeySlot] {
    area.withUnsafeBytes { KeySlotPlaces.slots(in: $0) }
  }

  private func order(_ area: [UInt8]) -> [Int] {
    area.withUnsafeBytes { KeySlotPlaces.order(in: $0) }
  }

  @Test("each place has a slot and its recipients", arguments: [1, 2, KeySlot.mostRecipients])
  func eachPlaceHasASlot(count: Int) {
    let keys = [key(count), key(1)]
    #expect(read(keys.flatMap { KeySlotPlaces.encoded($0) }) == keys)
  }

  @Test("what is read comes last when the places are written anew")
  func theOrderOfPlaces() {
    let place = KeySlotPlaces.encoded(key(2))
    let zeros = [UInt8](repeating: 0, count: place.count)
    #expect(order(place + place) == [KeySlotsLayout.placeSize, 0])
    #expect(order(place + zeros) == [KeySlotsLayout.placeSize, 0])
    #expect(order(zeros + place) == [0, KeySlotsLayout.placeSize])
  }

  @Test("a place with a wrong bit is passed over, and the other one counts")
  func aWrongBit() {
    let wanted = key(2)
    let place = KeySlotPlaces.encoded(wanted)
    for bit in 0..<(KeySlotsLayout.recipients + 64 + wanted.slot.count) * 8 {
      var wrong = place
      wrong[bit / 8] ^= 1 << (bit % 8)
      #expect(read(wrong + place) == [wanted], "bit \(bit)")
    }
  }

  @Test(
    "sizes that do not fit a place are no slot, whatever the checksum",
    arguments: [
      (0, 1), (1, 0), (1, 65), (1, .max), (.max, 1), (.max, .max), (12288 - 16 - 32 + 1, 1),
      (12288 - 16 - 64 * 32 + 1, 64),
    ] as [(UInt32, UInt32)])
  func sizesThatDoNotFit(slot: UInt32, recipients: UInt32) {
    var area = [UInt8](repeating: 0, count: KeySlotsLayout.areaSize)
    area.withUnsafeMutableBytes {
      $0.storeBytes(of: slot.littleEndian, as: UInt32.self)
      $0.storeBytes(
        of: recipients.littleEndian, toByteOffset: KeySlotsLayout.recipientCount, as: UInt32.self)
      // The bytes that the checksum would cover, as far as they are there.
      let end = min(
        KeySlotsLayout.placeSize, KeySlotsLayout.recipients + 32 * Int(recipients) + Int(slot))
      let sum = crc32c(UnsafeRawBufferPointer(rebasing: $0[KeySlotsLayout.recipientCount..<end]))
      $0.storeBytes(
        of: sum.littleEndian, toByteOffset: KeySlotsLayout.checksum, as: UInt32.self)
    }
    #expect(read(area).isEmpty)
  }
}
