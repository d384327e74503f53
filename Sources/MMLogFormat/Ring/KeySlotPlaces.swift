package import MMLogCrypto

/// The key of an encrypted ring for its recipients, and the recipients. A recovery encrypts what it
/// makes of the ring for the same recipients, and a slot does not name them.
package struct RingKeySlot: Equatable, Sendable {
  package let slot: [UInt8]
  package let recipients: [Recipient]

  package init(_ slot: [UInt8], for recipients: [Recipient]) {
    (self.slot, self.recipients) = (slot, recipients)
  }
}

/// The area of an encrypted ring that has the ring's key for its recipients: see
/// ``KeySlotsLayout``.
package enum KeySlotPlaces {
  private typealias Layout = KeySlotsLayout

  /// The bytes of one of the two places. A place has room for the maximum number of recipients.
  package static func encoded(_ key: RingKeySlot) -> [UInt8] {
    let content = key.recipients.flatMap(\.publicKey) + key.slot
    precondition(content.count <= Layout.placeSize - Layout.recipients)
    var place = [UInt8](repeating: 0, count: Layout.placeSize)
    place.withUnsafeMutableBytes { out in
      out.store(UInt32(key.slot.count), Layout.slotSize)
      out.store(UInt32(key.recipients.count), Layout.recipientCount)
      UnsafeMutableRawBufferPointer(rebasing: out[Layout.recipients...]).copyBytes(from: content)
      out.store(
        checksum(of: UnsafeRawBufferPointer(out), end: Layout.recipients + content.count),
        Layout.checksum)
    }
    return place
  }

  /// The slots that can be read in the places of an area.
  package static func slots(in area: UnsafeRawBufferPointer) -> [RingKeySlot] {
    stride(from: 0, to: Layout.areaSize, by: Layout.placeSize).compactMap {
      slot(in: area.slice($0, Layout.placeSize))
    }
  }

  /// The area's places, as offsets, in the order in which another slot is written to them: the
  /// place that is read until then comes last.
  package static func order(in area: UnsafeRawBufferPointer) -> [Int] {
    let places = [0, Layout.placeSize]
    return slot(in: area.slice(0, Layout.placeSize)) == nil ? places : places.reversed()
  }

  private static func slot(in place: UnsafeRawBufferPointer) -> RingKeySlot? {
    let size = Int(place.load(Layout.slotSize, as: UInt32.self))
    let count = Int(place.load(Layout.recipientCount, as: UInt32.self))
    guard size > 0, (1...KeySlot.mostRecipients).contains(count) else { return nil }
    let start = Layout.recipients + count * Layout.recipientSize
    guard size <= place.count - start,
      checksum(of: place, end: start + size) == place.load(Layout.checksum, as: UInt32.self)
    else { return nil }
    let recipients = stride(from: Layout.recipients, to: start, by: Layout.recipientSize).map {
      Recipient(publicKey: Array(place.slice($0, Layout.recipientSize)))
    }
    return RingKeySlot(Array(place.slice(start, size)), for: recipients)
  }

  private static func checksum(of place: UnsafeRawBufferPointer, end: Int) -> UInt32 {
    crc32c(place.slice(Layout.recipientCount, end - Layout.recipientCount))
  }
}
