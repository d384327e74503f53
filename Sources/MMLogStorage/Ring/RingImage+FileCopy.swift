import MMLogFormat
package import MMLogSystem

extension RingImage {
  /// The bytes for a copy of the ring's file while its process may go on: all that the image has,
  /// and otherwise only bytes that may change without harm. So each segment in the copy is whole or
  /// free, and the rest fits.
  ///
  /// Not for an image that was decrypted, or that was not read from the beginning.
  ///
  /// - Parameter file: The file that the image was read from.
  package func fileCopy(of file: borrowing File) throws(SystemError) -> SparseMemory {
    let (geometry, areas) = (fileHeader.geometry, fileHeader.areas)
    let dictionary = geometry.dictionaryOffset..<geometry.dictionaryOffset + geometry.dictionarySize
    let known = [
      areas.sessionState, areas.clocks, areas.ledger, areas.crash, areas.stateSlots, areas.head,
      areas.keySlots, geometry.uses, dictionary,
      geometry.segmentsOffset..<geometry.segmentsOffset,
    ]
    var end = 0
    for area in known.compactMap(\.self).sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if area.lowerBound > end { try memory.read(file, end..<area.lowerBound) }
      end = max(end, area.upperBound)
    }
    return memory
  }
}
