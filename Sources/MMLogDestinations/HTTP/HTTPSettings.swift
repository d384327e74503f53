/// How servers are reached over HTTP. Certificates are always verified, and redirects never
/// followed.
package struct HTTPSettings: Sendable {
  /// How a request proves who sends it.
  package enum Credentials: Sendable {
    /// Not at all, or by the client's certificate.
    case none
    /// `Authorization: Bearer …`.
    case bearer(Secret)
    /// `Authorization: Basic …`.
    case basic(user: String, password: Secret)
    /// Another header whose value is the secret, such as `X-Api-Key`.
    case header(String, Secret)
    /// AWS Signature Version 4. The file has the access key id, a colon and the secret key; and a
    /// colon and a session token, if there is one.
    case aws(keys: Secret, region: String, service: String)
  }

  /// How a request proves who sends it. Default: not at all.
  package var credentials = Credentials.none
  /// Headers of each request.
  package var headers: [(name: String, value: String)] = []
  /// The file of the certificates that are trusted, in PEM. Nil: those of the system.
  package var trustedCertificates: String?
  /// The file of the client's certificate, in PEM. Nil: none.
  package var certificate: String?
  /// The file of its private key, in PEM. Nil: it is in the same file.
  package var certificateKey: String?
  /// The passphrase of the private key. Nil: none.
  package var certificatePassphrase: Secret?
  /// The proxy's URL. Nil: as `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` say; empty:
  /// none.
  package var proxy: String?
  /// The proxy's user, and password.
  package var proxyCredentials: (user: String, password: Secret)?
  /// The Unix socket to connect to in place of the URL's host. Nil: none.
  package var unixSocket: String?
  /// How long a connection may take. Default: 10 s.
  package var connectTimeout: Duration = .seconds(10)
  /// How long a request may take in all. Default: 60 s.
  package var timeout: Duration = .seconds(60)
  /// How long a body that has begun may stand still before the request is broken off. While the
  /// server works on its answer, only ``timeout`` counts. Default: 30 s.
  package var stallTimeout: Duration = .seconds(30)
  /// The size in bytes beyond which an answer is broken off. Default: 16 MiB.
  package var maximumResponse = 16 << 20
  /// Whether bodies are compressed with gzip. Default: true.
  package var compresses = true

  /// The defaults.
  package init() {}
}
