/// The area of an encrypted ring that has its key for its recipients: see ``KeySlotsLayout``.
package enum KeySlotPlaces {
  /// One of the two places with a slot, which has room for all recipients that there may be.
  package static func encoded(_ slot: [UInt8]) -> [UInt8] {
    precondition(slot.count <= KeySlotsLayout.placeSize - KeySlotsLayout.slot)
    var place = [UInt8](repeating: 0, count: KeySlotsLayout.placeSize)
    place.withUnsafeMutableBytes { out in
      out.store(UInt32(slot.count), KeySlotsLayout.slotSize)
      out.store(slot.withUnsafeBytes { crc32c($0) }, KeySlotsLayout.checksum)
      UnsafeMutableRawBufferPointer(rebasing: out[KeySlotsLayout.slot...]).copyBytes(from: slot)
    }
    return place
  }

  /// The slots in an area that can be read.
  package static func slots(in area: UnsafeRawBufferPointer) -> [[UInt8]] {
    stride(from: 0, to: KeySlotsLayout.areaSize, by: KeySlotsLayout.placeSize).compactMap {
      slot(in: area.slice($0, KeySlotsLayout.placeSize))
    }
  }

  /// The area's places, as offsets, in the order in which they get another slot: the one that is
  /// read until then comes last.
  package static func order(in area: UnsafeRawBufferPointer) -> [Int] {
    let places = [0, KeySlotsLayout.placeSize]
    return slot(in: area.slice(0, KeySlotsLayout.placeSize)) == nil ? places : places.reversed()
  }

  private static func slot(in place: UnsafeRawBufferPointer) -> [UInt8]? {
    let size = Int(place.load(KeySlotsLayout.slotSize, as: UInt32.self))
    guard size > 0, size <= KeySlotsLayout.placeSize - KeySlotsLayout.slot else { return nil }
    let slot = place.slice(KeySlotsLayout.slot, size)
    return crc32c(slot) == place.load(KeySlotsLayout.checksum, as: UInt32.self) ? Array(slot) : nil
  }
}
