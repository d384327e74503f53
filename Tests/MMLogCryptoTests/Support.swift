#if Encryption
  import MMLogCrypto

  extension SecretKey {
    convenience init(bytes: [UInt8]) throws(CryptoError) {
      try self.init(bytes.count) { $0.copyBytes(from: bytes) }
    }

    var bytes: [UInt8] { withBytes { Array($0) } }
  }

  extension [UInt8] {
    init(hex: String) {
      let digits = Array<Character>(hex.filter { !$0.isWhitespace })
      self = stride(from: 0, to: digits.count, by: 2).compactMap {
        UInt8(String(digits[$0...$0 + 1]), radix: 16)
      }
    }
  }
#endif
