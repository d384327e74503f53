import MMLogSystem

/// The algorithms of libcrypto that are used here: each function is one algorithm, through the EVP
/// interface.
///
/// All algorithms are looked up once, when the first is needed, because a lookup takes locks: a
/// child of fork then needs no lookup. Without the trait `Encryption`, all functions throw
/// ``CryptoError/missingLibrary``.
package enum Cryptography {
  /// Bytes of an encryption key, and of X25519's keys.
  package static let keySize = 32
  /// Bytes that ChaCha20-Poly1305 adds to what it encrypts.
  package static let tagSize = 16
  /// Bytes of SHA-256.
  package static let hashSize = 32
  /// Bytes of ChaCha20-Poly1305's nonce.
  package static let nonceSize = 12

  /// Whether this build has libcrypto.
  package static var isAvailable: Bool {
    #if Encryption
      true
    #else
      false
    #endif
  }

  /// Bytes that nobody can guess.
  package static func randomBytes(_ count: Int) throws(CryptoError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    try bytes.withUnsafeMutableBufferPointer { (bytes) throws(CryptoError) in
      try fillRandom(UnsafeMutableRawBufferPointer(bytes))
    }
    return bytes
  }

  static func fillRandom(_ bytes: UnsafeMutableRawBufferPointer) throws(CryptoError) {
    do throws(SystemError) {
      try Random.fill(bytes)
    } catch {
      throw .system("there are no random bytes: \(error)")
    }
  }
}

extension Cryptography {
  /// Encrypts bytes into an array.
  ///
  /// - Returns: As many bytes as `bytes`, and ``tagSize`` more.
  package static func encrypt(
    _ bytes: UnsafeRawBufferPointer, key: SecretKey, nonce: [UInt8],
    associated: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
  ) throws(CryptoError) -> [UInt8] {
    var output = [UInt8](repeating: 0, count: bytes.count + tagSize)
    try output.withUnsafeMutableBufferPointer { (output) throws(CryptoError) in
      try encrypt(
        bytes, into: UnsafeMutableRawBufferPointer(output), key: key, nonce: nonce,
        associated: associated)
    }
    return output
  }
}

#if Encryption
  import CCrypto

  /// The algorithms, looked up once.
  ///
  /// Proof of `@unchecked Sendable`: libcrypto counts references to them itself, and never changes
  /// one.
  private final class Algorithms: @unchecked Sendable {
    let cipher: OpaquePointer
    let streamCipher: OpaquePointer
    let derivation: OpaquePointer
    let hash: OpaquePointer
    /// The zeros that streams are made of.
    let zeros: UnsafeRawBufferPointer

    static let shared = Algorithms()

    init?() {
      // libcrypto's exit handler would only free what the system frees, too, and end the drainer's
      // work. The program may have installed it before, or may still install it.
      guard OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1,
        OPENSSL_atexit({ LibraryUses.endAll() }) == 1,
        let cipher = EVP_CIPHER_fetch(nil, "ChaCha20-Poly1305", nil),
        let streamCipher = EVP_CIPHER_fetch(nil, "AES-256-CTR", nil),
        let derivation = EVP_KDF_fetch(nil, "HKDF", nil),
        let hash = EVP_MD_fetch(nil, "SHA256", nil)
      else { return nil }
      (self.cipher, self.streamCipher) = (cipher, streamCipher)
      (self.derivation, self.hash) = (derivation, hash)
      let zeros = UnsafeMutableRawBufferPointer.allocate(byteCount: 16 << 10, alignment: 64)
      zeros.initializeMemory(as: UInt8.self, repeating: 0)
      self.zeros = UnsafeRawBufferPointer(zeros)
    }

    /// Begins a use of libcrypto. Until ``end()``, libcrypto frees nothing that it works with.
    static func begin() throws(CryptoError) -> Algorithms {
      guard let shared else { throw .library("looking up its algorithms") }
      guard LibraryUses.add() else { throw .system("the process exits, and libcrypto has ended") }
      return shared
    }

    static func end() { LibraryUses.remove() }
  }

  extension Cryptography {
    /// Looks up the algorithms, for a process that may fork afterwards. To be called before
    /// anything else of libcrypto is used.
    package static func prepare() throws(CryptoError) {
      _ = try Algorithms.begin()
      Algorithms.end()
    }

    /// A key made of another one: HKDF with SHA-256 (RFC 5869).
    ///
    /// - Parameters:
    ///   - key: The secret that the key is made of.
    ///   - salt: Makes the key different from all others; public.
    ///   - info: What the key is for.
    package static func deriveKey(
      from key: SecretKey, salt: [UInt8], info: StaticString
    ) throws(CryptoError) -> SecretKey {
      let algorithms = try Algorithms.begin()
      defer { Algorithms.end() }
      guard let context = EVP_KDF_CTX_new(algorithms.derivation) else {
        throw .library("EVP_KDF_CTX_new")
      }
      defer { EVP_KDF_CTX_free(context) }
      return try SecretKey(keySize) { (output) throws(CryptoError) in
        let isDone = key.withBytes { secret in
          derive(context, secret, salt, info, to: output)
        }
        guard isDone else { throw .library("EVP_KDF_derive") }
      }
    }

    private static func derive(
      _ context: OpaquePointer, _ secret: UnsafeRawBufferPointer, _ salt: [UInt8],
      _ info: StaticString, to output: UnsafeMutableRawBufferPointer
    ) -> Bool {
      var salt = salt
      return salt.withUnsafeMutableBytes { salt in
        let parameters = [
          parameter("digest", bytes(of: "SHA256"), isText: true),
          parameter("key", secret),
          parameter("salt", UnsafeRawBufferPointer(salt)),
          parameter("info", bytes(of: info)),
          OSSL_PARAM_construct_end(),
        ]
        return EVP_KDF_derive(context, output.baseAddress, output.count, parameters) == 1
      }
    }

    private static func bytes(of text: StaticString) -> UnsafeRawBufferPointer {
      UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    }

    /// A parameter that libcrypto only reads. It keeps the pointers to `name` and `bytes`.
    private static func parameter(
      _ name: StaticString, _ bytes: UnsafeRawBufferPointer, isText: Bool = false
    ) -> OSSL_PARAM {
      OSSL_PARAM(
        key: UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self),
        data_type: CUnsignedInt(isText ? OSSL_PARAM_UTF8_STRING : OSSL_PARAM_OCTET_STRING),
        data: UnsafeMutableRawPointer(mutating: bytes.baseAddress), data_size: bytes.count,
        return_size: 0)
    }

    /// SHA-256 (FIPS 180-4).
    package static func hash(of bytes: UnsafeRawBufferPointer) throws(CryptoError) -> [UInt8] {
      let algorithm = try Algorithms.begin().hash
      defer { Algorithms.end() }
      var hash = [UInt8](repeating: 0, count: hashSize)
      guard EVP_Digest(bytes.baseAddress, bytes.count, &hash, nil, algorithm, nil) == 1 else {
        throw .library("EVP_Digest")
      }
      return hash
    }

    /// HMAC with SHA-256 (RFC 2104).
    package static func authenticationCode(
      of bytes: [UInt8], key: SecretKey
    ) throws(CryptoError) -> [UInt8] {
      _ = try Algorithms.begin()
      defer { Algorithms.end() }
      var code = [UInt8](repeating: 0, count: hashSize)
      var size = 0
      let result = key.withBytes { key in
        EVP_Q_mac(
          nil, "HMAC", nil, "SHA256", nil, key.baseAddress, key.count, bytes, bytes.count, &code,
          code.count, &size)
      }
      guard result != nil, size == code.count else { throw .library("EVP_Q_mac") }
      return code
    }

    /// Bytes in base64, without the padding.
    static func base64(_ bytes: [UInt8]) -> String {
      var text = [UInt8](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)
      let size = EVP_EncodeBlock(&text, bytes, CInt(bytes.count))
      return String(decoding: text[..<Int(size)].prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self)
    }

    /// The bytes of what ``base64(_:)`` gave; nil for any other text.
    static func bytes(ofBase64 text: ArraySlice<UInt8>) -> [UInt8]? {
      let padded = text + repeatElement(UInt8(ascii: "="), count: (4 - text.count % 4) % 4)
      var bytes = [UInt8](repeating: 0, count: padded.count / 4 * 3)
      guard EVP_DecodeBlock(&bytes, Array(padded), CInt(padded.count)) == bytes.count else {
        return nil
      }
      bytes.removeLast(padded.count - text.count)
      return base64(bytes).utf8.elementsEqual(text) ? bytes : nil
    }

    /// Whether two codes are the same, in a time that does not depend on where they differ.
    static func areEqual(_ a: [UInt8], _ b: [UInt8]) -> Bool {
      a.count == b.count && CRYPTO_memcmp(a, b, a.count) == 0
    }

    /// Encrypts bytes, and authenticates them and `associated`: ChaCha20-Poly1305 (RFC 8439).
    ///
    /// - Parameters:
    ///   - output: As many bytes as `bytes`, and ``tagSize`` more.
    ///   - nonce: 12 bytes; no two messages may have the same one with the same key.
    ///   - associated: Bytes that are authenticated, but are no part of the result.
    package static func encrypt(
      _ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, key: SecretKey,
      nonce: [UInt8], associated: UnsafeRawBufferPointer
    ) throws(CryptoError) {
      precondition(nonce.count == nonceSize && output.count == bytes.count + tagSize)
      let cipher = try Algorithms.begin().cipher
      defer { Algorithms.end() }
      let target = output.assumingMemoryBound(to: UInt8.self).baseAddress
      let isDone = try withContext { (context) throws(CryptoError) in
        var size: CInt = 0
        return key.withBytes {
          EVP_EncryptInit_ex2(context, cipher, $0.baseAddress, nonce, nil) == 1
        }
          && update(EVP_EncryptUpdate, context, nil, associated)
          && update(EVP_EncryptUpdate, context, target, bytes)
          && EVP_EncryptFinal_ex(context, target, &size) == 1
          && EVP_CIPHER_CTX_ctrl(
            context, EVP_CTRL_AEAD_GET_TAG, CInt(tagSize), target.map { $0 + bytes.count }
          ) == 1
      }
      guard isDone else { throw .library("EVP_EncryptUpdate") }
    }

    /// Decrypts what ``encrypt(_:into:key:nonce:associated:)`` made.
    ///
    /// - Throws: ``CryptoError/notAuthentic`` if something in `bytes` or `associated` was changed,
    ///   or if key or nonce are others.
    package static func decrypt(
      _ bytes: UnsafeRawBufferPointer, key: SecretKey, nonce: [UInt8],
      associated: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
    ) throws(CryptoError) -> [UInt8] {
      precondition(nonce.count == nonceSize)
      guard bytes.count >= tagSize else { throw .notAuthentic }
      let cipher = try Algorithms.begin().cipher
      defer { Algorithms.end() }
      let size = bytes.count - tagSize
      var tag = Array(bytes[size...])
      return try withContext { (context) throws(CryptoError) in
        var isDone = key.withBytes {
          EVP_DecryptInit_ex2(context, cipher, $0.baseAddress, nonce, nil) == 1
        }
        isDone =
          isDone
          && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, CInt(tagSize), &tag) == 1
        guard isDone else { throw .library("EVP_DecryptInit_ex2") }
        var isAuthentic = false
        let result = [UInt8](unsafeUninitializedCapacity: size) { output, count in
          var rest: CInt = 0
          isAuthentic =
            update(EVP_DecryptUpdate, context, nil, associated)
            && update(
              EVP_DecryptUpdate, context, output.baseAddress,
              UnsafeRawBufferPointer(rebasing: bytes[..<size]))
            && EVP_DecryptFinal_ex(context, output.baseAddress, &rest) == 1
          count = isAuthentic ? size : 0
        }
        guard isAuthentic else { throw .notAuthentic }
        return result
      }
    }

    /// Bytes of AES-256 in counter mode (NIST SP 800-38A): a clear text is combined with them by
    /// exclusive or.
    ///
    /// - Parameter counter: The first block's 16 bytes.
    package static func fillStream(
      _ output: UnsafeMutableRawBufferPointer, key: SecretKey, counter: [UInt8]
    ) throws(CryptoError) {
      precondition(counter.count == 16)
      let algorithms = try Algorithms.begin()
      defer { Algorithms.end() }
      let isDone = try withContext { (context) throws(CryptoError) in
        var isDone = key.withBytes {
          EVP_EncryptInit_ex2(context, algorithms.streamCipher, $0.baseAddress, counter, nil) == 1
        }
        let target = output.assumingMemoryBound(to: UInt8.self).baseAddress
        var done = 0
        while isDone, done < output.count {
          // The shared zeros stay in the cache, and need not be stored first.
          let zeros = UnsafeRawBufferPointer(
            rebasing: algorithms.zeros.prefix(output.count - done))
          isDone = update(EVP_EncryptUpdate, context, target.map { $0 + done }, zeros)
          done += zeros.count
        }
        return isDone
      }
      guard isDone else { throw .library("EVP_EncryptUpdate") }
    }

    /// The public key of a secret one: X25519 (RFC 7748).
    package static func publicKey(of key: SecretKey) throws(CryptoError) -> [UInt8] {
      try withPair(key) { (pair) throws(CryptoError) in
        var bytes = [UInt8](repeating: 0, count: keySize)
        var size = keySize
        guard EVP_PKEY_get_raw_public_key(pair, &bytes, &size) == 1, size == keySize else {
          throw .library("EVP_PKEY_get_raw_public_key")
        }
        return bytes
      }
    }

    /// The secret that the owner of a secret key and the owner of a public key have in common:
    /// X25519.
    ///
    /// - Throws: ``CryptoError/malformed(_:)`` for a public key that gives everybody the same
    ///   secret.
    package static func sharedSecret(
      of key: SecretKey, with publicKey: [UInt8]
    ) throws(CryptoError) -> SecretKey {
      try withPair(key) { (pair) throws(CryptoError) in
        guard
          let peer = EVP_PKEY_new_raw_public_key_ex(
            nil, "X25519", nil, publicKey, publicKey.count)
        else { throw .malformed("a public key does not have \(keySize) bytes") }
        defer { EVP_PKEY_free(peer) }
        guard let context = EVP_PKEY_CTX_new_from_pkey(nil, pair, nil) else {
          throw .library("EVP_PKEY_CTX_new_from_pkey")
        }
        defer { EVP_PKEY_CTX_free(context) }
        guard EVP_PKEY_derive_init(context) == 1, EVP_PKEY_derive_set_peer(context, peer) == 1
        else {
          throw .library("EVP_PKEY_derive_init")
        }
        return try SecretKey(keySize) { (output) throws(CryptoError) in
          var size = keySize
          let bytes = output.assumingMemoryBound(to: UInt8.self).baseAddress
          // libcrypto refuses a secret of zeros.
          guard EVP_PKEY_derive(context, bytes, &size) == 1, size == keySize else {
            throw .malformed("a public key is one that no secret key has")
          }
        }
      }
    }

    private static func withPair<Result>(
      _ key: SecretKey, _ body: (OpaquePointer) throws(CryptoError) -> Result
    ) throws(CryptoError) -> Result {
      _ = try Algorithms.begin()
      defer { Algorithms.end() }
      let pair = key.withBytes {
        EVP_PKEY_new_raw_private_key_ex(nil, "X25519", nil, $0.baseAddress, $0.count)
      }
      guard let pair else { throw .library("EVP_PKEY_new_raw_private_key_ex") }
      defer { EVP_PKEY_free(pair) }
      return try body(pair)
    }

    private static func withContext<Result>(
      _ body: (OpaquePointer) throws(CryptoError) -> Result
    ) throws(CryptoError) -> Result {
      guard let context = EVP_CIPHER_CTX_new() else { throw .library("EVP_CIPHER_CTX_new") }
      // This zeroes what the context had of the key.
      defer { EVP_CIPHER_CTX_free(context) }
      return try body(context)
    }

    /// Passes bytes through a cipher, at most 1 GiB at a time, because its sizes are C's int.
    private static func update(
      _ step: (
        OpaquePointer?, UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<CInt>?,
        UnsafePointer<UInt8>?, CInt
      ) -> CInt,
      _ context: OpaquePointer, _ output: UnsafeMutablePointer<UInt8>?,
      _ bytes: UnsafeRawBufferPointer
    ) -> Bool {
      let input = bytes.assumingMemoryBound(to: UInt8.self).baseAddress
      var done = 0
      while done < bytes.count {
        var size: CInt = 0
        let part = min(bytes.count - done, 1 << 30)
        guard
          step(context, output.map { $0 + done }, &size, input.map { $0 + done }, CInt(part)) == 1
        else { return false }
        done += part
      }
      return true
    }
  }
#else
  // The same functions for a build without libcrypto.
  extension Cryptography {
    package static func prepare() throws(CryptoError) { throw .missingLibrary }

    package static func deriveKey(
      from key: SecretKey, salt: [UInt8], info: StaticString
    ) throws(CryptoError) -> SecretKey { throw .missingLibrary }

    package static func hash(of bytes: UnsafeRawBufferPointer) throws(CryptoError) -> [UInt8] {
      throw .missingLibrary
    }

    package static func authenticationCode(
      of bytes: [UInt8], key: SecretKey
    ) throws(CryptoError) -> [UInt8] { throw .missingLibrary }

    static func base64(_ bytes: [UInt8]) -> String { "" }

    static func bytes(ofBase64 text: ArraySlice<UInt8>) -> [UInt8]? { nil }

    static func areEqual(_ a: [UInt8], _ b: [UInt8]) -> Bool { false }

    package static func encrypt(
      _ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, key: SecretKey,
      nonce: [UInt8], associated: UnsafeRawBufferPointer
    ) throws(CryptoError) { throw .missingLibrary }

    package static func decrypt(
      _ bytes: UnsafeRawBufferPointer, key: SecretKey, nonce: [UInt8],
      associated: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
    ) throws(CryptoError) -> [UInt8] { throw .missingLibrary }

    package static func fillStream(
      _ output: UnsafeMutableRawBufferPointer, key: SecretKey, counter: [UInt8]
    ) throws(CryptoError) { throw .missingLibrary }

    package static func publicKey(of key: SecretKey) throws(CryptoError) -> [UInt8] {
      throw .missingLibrary
    }

    package static func sharedSecret(
      of key: SecretKey, with publicKey: [UInt8]
    ) throws(CryptoError) -> SecretKey { throw .missingLibrary }
  }
#endif
