/// Whether a character must not reach a terminal as it is: it moves the cursor, starts a command,
/// ends a line, or turns the direction of what follows.
@inlinable package func isUnsafeToShow(_ scalar: UInt32) -> Bool {
  switch scalar {
  case 0..<0x20, 0x7F..<0xA0: true  // C0, DEL, C1
  case 0x2028, 0x2029: true  // line and paragraph separator
  case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true  // direction
  default: false
  }
}
