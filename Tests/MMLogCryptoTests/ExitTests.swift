#if Encryption
  import CCrypto
  import MMLogCrypto
  import MMLogSystem
  import TestSupport
  import Testing

  /// libcrypto's exit handler frees what libcrypto works with, whoever is using it.
  @Suite struct ExitTests {
    @Test("threads that encrypt and make key slots outlive libcrypto's exit handler")
    func threads() async {
      for pause in 0..<10 {
        await #expect(processExitsWith: .success) { [pause = pause as Int] in
          let key = try SecretKey.random()
          let recipient = Recipient(publicKey: try Cryptography.publicKey(of: key))
          let nonce = [UInt8](repeating: 0, count: Cryptography.nonceSize)
          _ = try Thread(name: "frames") {
            while true {
              _ = try? nonce.read { try Cryptography.encrypt($0, key: key, nonce: nonce) }
            }
          }
          _ = try Thread(name: "slots") {
            while true { _ = try? KeySlot.encrypt(key, for: [recipient]) }
          }
          Sleep.nanoseconds(Int64(pause) * 100_000)
          // What the handler does. Other handlers may take their time then.
          OPENSSL_cleanup()
          Sleep.nanoseconds(2_000_000)
          exit(0)
        }
      }
    }

    @Test("what is asked of libcrypto after its end fails, and says why")
    func afterTheEnd() async {
      await #expect(processExitsWith: .success) {
        let key = try SecretKey.random()
        require((try? Cryptography.publicKey(of: key)) != nil)
        OPENSSL_cleanup()
        do {
          _ = try Cryptography.publicKey(of: key)
          require(false)
        } catch {
          require("\(error)".contains("the process exits"))
        }
      }
    }
  }
#endif
