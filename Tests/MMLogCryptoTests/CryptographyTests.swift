#if Encryption
  import MMLogCrypto
  import TestSupport
  import Testing

  @Suite struct CryptographyTests {
    @Test("HKDF gives what RFC 5869 says") func derivation() throws {
      let key = try Cryptography.deriveKey(
        from: SecretKey(bytes: Array(repeating: 0x0b, count: 22)), salt: [], info: "")
      // The first 32 bytes of test case 3.
      #expect(
        key.bytes
          == Array(hex: "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d"))
    }

    @Test("SHA-256 gives what FIPS 180-4's examples say") func hash() throws {
      let examples = [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
      ]
      for (text, expected) in examples {
        #expect(try Array(text.utf8).read { try Cryptography.hash(of: $0) } == Array(hex: expected))
      }
    }

    @Test("HMAC gives what RFC 4231 says") func authenticationCode() throws {
      let code = try Cryptography.authenticationCode(
        of: Array("what do ya want for nothing?".utf8), key: SecretKey(bytes: Array("Jefe".utf8)))
      #expect(
        code == Array(hex: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"))
    }

    @Test("X25519 gives what RFC 7748 says") func sharedSecret() throws {
      let bob = try SecretKey(
        bytes: Array(hex: "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"))
      #expect(
        try Cryptography.publicKey(of: bob)
          == Array(hex: "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"))
      let alice = [UInt8](
        hex: "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a")
      #expect(
        try Cryptography.sharedSecret(of: bob, with: alice).bytes
          == Array(hex: "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742"))
    }

    @Test("a public key that gives everybody the same secret is refused")
    func aPublicKeyWithoutSecretIsRefused() throws {
      let key = try SecretKey.random()
      let zeros = [UInt8](repeating: 0, count: 31)
      for publicKey in [zeros + [0], [1] + zeros, []] {
        #expect(throws: CryptoError.self) {
          try Cryptography.sharedSecret(of: key, with: publicKey)
        }
      }
    }

    @Test("ChaCha20-Poly1305 gives what RFC 8439 says") func cipher() throws {
      let key = try SecretKey(bytes: Array(0x80...0x9f))
      let nonce = [UInt8](hex: "070000004041424344454647")
      let associated = [UInt8](hex: "50515253c0c1c2c3c4c5c6c7")
      let text = Array(
        ("Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the "
          + "future, sunscreen would be it.").utf8)
      let encrypted = try text.read { text in
        try associated.read {
          try Cryptography.encrypt(text, key: key, nonce: nonce, associated: $0)
        }
      }
      #expect(encrypted.prefix(16) == Array(hex: "d31a8d34648e60db7b86afbc53ef7ec2")[...])
      #expect(encrypted.suffix(16) == Array(hex: "1ae10b594f09e26a7e902ecbd0600691")[...])
      let decrypted = try encrypted.read { encrypted in
        try associated.read {
          try Cryptography.decrypt(encrypted, key: key, nonce: nonce, associated: $0)
        }
      }
      #expect(decrypted == text)
    }

    @Test("each bit that is changed is found") func eachBitThatIsChangedIsFound() throws {
      let (key, other) = (try SecretKey.random(), try SecretKey.random())
      let nonce = [UInt8](repeating: 0, count: Cryptography.nonceSize)
      let encrypted = try [1, 2, 3].read {
        try Cryptography.encrypt($0, key: key, nonce: nonce)
      }
      for bit in 0..<encrypted.count * 8 {
        #expect(throws: CryptoError.notAuthentic, "bit \(bit)") {
          try encrypted.flipping(bit: bit).read {
            try Cryptography.decrypt($0, key: key, nonce: nonce)
          }
        }
      }
      for count in 0..<encrypted.count {
        #expect(throws: CryptoError.notAuthentic, "\(count) bytes") {
          try Array(encrypted.prefix(count)).read {
            try Cryptography.decrypt($0, key: key, nonce: nonce)
          }
        }
      }
      #expect(throws: CryptoError.notAuthentic) {
        try encrypted.read { try Cryptography.decrypt($0, key: other, nonce: nonce) }
      }
    }

    @Test("AES in counter mode gives what NIST says") func stream() throws {
      let key = try SecretKey(
        bytes: Array(hex: "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"))
      var stream = [UInt8](repeating: 1, count: 32)
      try stream.withUnsafeMutableBytes {
        try Cryptography.fillStream(
          $0, key: key, counter: Array(hex: "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"))
      }
      // SP 800-38A, F.5.5: the output blocks 1 and 2.
      #expect(
        stream
          == Array(hex: "0bdf7df1591716335e9a8b15c860c502 5a6e699d536119065433863c8f657b94"))
    }

    @Test("a key is protected, and gone from memory when nobody has it") func keys() throws {
      #expect(try SecretKey.random().isProtected)
      #expect(try SecretKey.random().bytes != SecretKey.random().bytes)
    }
  }
#endif
