// swift-tools-version: 6.3

import PackageDescription

/// A product of another package, which is not even fetched without the trait.
func product(_ name: String, of package: String, if trait: String) -> Target.Dependency {
  .product(name: name, package: package, condition: .when(traits: [trait]))
}

let package = Package(
  name: "mmlog",
  products: [
    .library(name: "MMLog", targets: ["MMLog"]),
    .library(name: "MMLogReader", targets: ["MMLogReader"]),
    .library(name: "MMLogAnalysis", targets: ["MMLogAnalysis"]),
    .library(name: "MMLogReport", targets: ["MMLogReport"]),
    .library(name: "MMLogTaps", targets: ["MMLogTaps"]),
    .library(name: "MMLogHTTP", targets: ["MMLogHTTP"]),
    .library(name: "MMLogURLSession", targets: ["MMLogURLSession"]),
    .library(name: "MMLogAsyncHTTPClient", targets: ["MMLogAsyncHTTPClient"]),
    .library(name: "MMLogHummingbird", targets: ["MMLogHummingbird"]),
    .library(name: "MMLogOpenAPI", targets: ["MMLogOpenAPI"]),
    .library(name: "MMLogShipping", targets: ["MMLogShipping"]),
    .library(name: "MMLogSwiftLog", targets: ["MMLogSwiftLog"]),
    .library(name: "MMLogTracing", targets: ["MMLogTracing"]),
    .library(name: "MMLogMetrics", targets: ["MMLogMetrics"]),
    .library(name: "MMLogServiceLifecycle", targets: ["MMLogServiceLifecycle"]),
    // For C; Tools/release makes what others link of it.
    .library(name: "mmlog-c", type: .static, targets: ["MMLogC", "CMMLogC"]),
    .executable(name: "mmlog-decode", targets: ["mmlog-decode"]),
    .executable(name: "mmlogctl", targets: ["mmlogctl"]),
    .executable(name: "mmlog-pipe", targets: ["mmlog-pipe"]),
  ],
  traits: [
    .trait(name: "SwiftLog", description: "The backend for swift-log, which is then fetched"),
    .trait(
      name: "Tracing",
      description: "The tracer for swift-distributed-tracing, which is then fetched"),
    .trait(
      name: "OpenAPI",
      description: "The middleware for swift-openapi-runtime, which is then fetched"),
    .trait(
      name: "AsyncHTTPClient",
      description: "The calls for AsyncHTTPClient, which is then fetched"),
    .trait(
      name: "Hummingbird", description: "The middleware for Hummingbird, which is then fetched"),
    .trait(
      name: "ServiceLifecycle",
      description: "The service for swift-service-lifecycle, which is then fetched"),
    .trait(name: "Metrics", description: "The backend for swift-metrics, which is then fetched"),
    .trait(
      name: "LibDeflate",
      description: "libdeflate in zlib's place: the same streams at about twice the rate"),
    .trait(
      name: "Zstd", description: "Archives that are compressed with zstd, for who asks for them"),
    .trait(
      name: "Encryption", description: "Encrypted logs, by libcrypto of OpenSSL 3"),
    .default(enabledTraits: []),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-log.git", from: "1.13.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.4.0"),
    .package(url: "https://github.com/apple/swift-openapi-runtime.git", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-http-types.git", from: "1.3.0"),
    .package(url: "https://github.com/apple/swift-nio.git", from: "2.81.0"),
    .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.26.0"),
    .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.6.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.6.0"),
    .package(url: "https://github.com/apple/swift-metrics.git", from: "2.5.0"),
  ],
  targets: [
    // What the operating system and the processor offer.
    .target(name: "CMMLogCore"),
    .target(name: "CMMLogWriter"),
    .target(name: "CMMLogSignals", dependencies: ["CMMLogCore"]),
    .systemLibrary(
      name: "CZlib", pkgConfig: "zlib",
      providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
    .systemLibrary(
      name: "CLibDeflate", pkgConfig: "libdeflate",
      providers: [.apt(["libdeflate-dev"]), .brew(["libdeflate"])]),
    .systemLibrary(
      name: "CZstd", pkgConfig: "libzstd",
      providers: [.apt(["libzstd-dev"]), .brew(["zstd"])]),
    .systemLibrary(
      name: "CCrypto", pkgConfig: "libcrypto",
      providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]),
    .target(name: "MMLogSystem", dependencies: ["CMMLogCore"]),
    .target(
      name: "MMLogCrypto",
      dependencies: [
        "MMLogSystem", .target(name: "CCrypto", condition: .when(traits: ["Encryption"])),
      ]),

    // Bytes, then files, then the two sides that use them.
    .target(
      name: "MMLogFormat",
      dependencies: [
        "MMLogCrypto", "CMMLogCore", "CZlib",
        .target(name: "CLibDeflate", condition: .when(traits: ["LibDeflate"])),
        .target(name: "CZstd", condition: .when(traits: ["Zstd"])),
      ]),
    .target(name: "MMLogStorage", dependencies: ["MMLogFormat", "MMLogCrypto", "MMLogSystem"]),
    .target(
      name: "MMLogCrash",
      dependencies: ["MMLogFormat", "MMLogSystem", "CMMLogSignals", "CMMLogCore"]),
    .target(
      name: "MMLog",
      dependencies: [
        "MMLogCrash", "MMLogStorage", "MMLogFormat", "MMLogCrypto", "MMLogSystem", "CMMLogWriter",
        "CMMLogCore",
      ]),
    .target(
      name: "MMLogReader",
      dependencies: ["MMLogStorage", "MMLogFormat", "MMLogCrypto", "MMLogSystem"]),
    .target(
      name: "MMLogAnalysis",
      dependencies: [
        "MMLogReader", "MMLogStorage", "MMLogFormat", "MMLogCrypto", "MMLogSystem",
      ]),
    .target(
      name: "MMLogReport",
      dependencies: ["MMLogAnalysis", "MMLogReader", "MMLogStorage", "MMLogFormat"],
      resources: ["html", "css", "js"].map { .embedInCode("Page/report.\($0)") }),
    .target(
      name: "MMLogTaps",
      dependencies: ["MMLog", "MMLogReader", "MMLogStorage", "MMLogFormat", "MMLogSystem"]),
    .target(name: "MMLogHTTP", dependencies: ["MMLog", "MMLogFormat", "MMLogSystem"]),
    // The only one of these that needs Foundation.
    .target(name: "MMLogURLSession", dependencies: ["MMLogHTTP"]),
    .target(
      name: "MMLogOpenAPI",
      dependencies: [
        "MMLogHTTP",
        product("OpenAPIRuntime", of: "swift-openapi-runtime", if: "OpenAPI"),
        product("HTTPTypes", of: "swift-http-types", if: "OpenAPI"),
      ]),
    .target(
      name: "MMLogAsyncHTTPClient",
      dependencies: [
        "MMLogHTTP", product("AsyncHTTPClient", of: "async-http-client", if: "AsyncHTTPClient"),
        product("NIOCore", of: "swift-nio", if: "AsyncHTTPClient"),
        product("NIOHTTP1", of: "swift-nio", if: "AsyncHTTPClient"),
        product("Logging", of: "swift-log", if: "AsyncHTTPClient"),
      ]),
    .target(
      name: "MMLogHummingbird",
      dependencies: [
        "MMLog", "MMLogHTTP", product("Hummingbird", of: "hummingbird", if: "Hummingbird"),
        product("HTTPTypes", of: "swift-http-types", if: "Hummingbird"),
        product("NIOCore", of: "swift-nio", if: "Hummingbird"),
      ]),
    .target(
      name: "MMLogMetrics",
      dependencies: ["MMLog", product("CoreMetrics", of: "swift-metrics", if: "Metrics")]),
    .target(
      name: "MMLogServiceLifecycle",
      dependencies: [
        "MMLog", product("ServiceLifecycle", of: "swift-service-lifecycle", if: "ServiceLifecycle"),
      ]),
    .target(
      name: "MMLogShipping",
      dependencies: ["MMLogReader", "MMLogStorage", "MMLogFormat", "MMLogSystem"]),
    .target(
      name: "MMLogSwiftLog",
      dependencies: [
        "MMLog", "MMLogStorage", "MMLogFormat",
        product("Logging", of: "swift-log", if: "SwiftLog"),
      ]),

    .target(
      name: "MMLogTracing",
      dependencies: [
        "MMLog", "MMLogFormat",
        product("Tracing", of: "swift-distributed-tracing", if: "Tracing"),
      ]),

    // Reads JSON, for programs.
    .target(name: "MMLogJSON"),

    // For C: mmlog.h with what is in C of it, and the rest, which C calls.
    .target(name: "CMMLogC", dependencies: ["CMMLogWriter"]),
    .target(
      name: "MMLogC",
      dependencies: [
        "CMMLogC", "MMLogTaps", "MMLog", "MMLogStorage", "MMLogFormat", "MMLogSystem",
        "CMMLogWriter",
      ]),

    // Programs.
    .target(name: "CommandLineTool", dependencies: ["MMLogSystem"]),
    .target(
      name: "LogCommands",
      dependencies: [
        "MMLogAnalysis", "MMLogReader", "MMLogStorage", "MMLogFormat", "MMLogCrypto",
        "CommandLineTool", "MMLogSystem",
      ]),
    .executableTarget(
      name: "mmlog-decode",
      dependencies: [
        "MMLogReport", "MMLogAnalysis", "MMLogReader", "MMLogStorage", "MMLogFormat",
        "LogCommands", "CommandLineTool", "MMLogSystem",
      ]),
    .executableTarget(
      name: "mmlogctl",
      dependencies: [
        "MMLogAnalysis", "MMLogReader", "MMLogStorage", "MMLogFormat", "MMLogCrypto", "LogCommands",
        "CommandLineTool", "MMLogSystem",
      ]),
    .target(
      name: "MMLogReceiving",
      dependencies: [
        "MMLogAnalysis", "MMLogReader", "MMLogStorage", "MMLogFormat", "MMLogSystem",
      ]),
    .executableTarget(
      name: "mmlog-slowest", dependencies: ["MMLogReader"], path: "Examples/Slowest"),
    .executableTarget(
      name: "mmlog-flight", dependencies: ["MMLog", "MMLogReader"], path: "Examples/FlightRecorder"),
    .executableTarget(
      name: "mmlog-failed-requests", dependencies: ["MMLogURLSession", "MMLogHTTP", "MMLog"],
      path: "Examples/FailedRequests"),
    .executableTarget(name: "mmlog-incident", dependencies: ["MMLog"], path: "Examples/Incident"),
    .executableTarget(
      name: "mmlog-c-service", dependencies: ["CMMLogC", "MMLogC"], path: "Examples/CService"),
    .executableTarget(
      name: "mmlog-pipe",
      dependencies: [
        "MMLog", "MMLogReader", "MMLogJSON", "LogCommands", "CommandLineTool", "MMLogSystem",
      ]),
    .executableTarget(
      name: "mmlog-demo",
      dependencies: ["MMLog", "MMLogReader", "MMLogSystem", "CMMLogCore", "CommandLineTool"]),

    // Tests. What several of them, the campaigns and the fuzzer need is in TestSupport.
    .target(
      name: "TestSupport",
      dependencies: ["MMLogReader", "MMLogFormat", "MMLogSystem", "CMMLogCore"],
      path: "Tests/TestSupport"),
    .testTarget(
      name: "MMLogCryptoTests",
      dependencies: [
        "MMLogCrypto", "MMLogSystem", "TestSupport",
        .target(name: "CCrypto", condition: .when(traits: ["Encryption"])),
      ]),
    .testTarget(name: "CMMLogTests", dependencies: ["TestSupport", "CMMLogCore"]),
    .testTarget(
      name: "MMLogSystemTests", dependencies: ["MMLogSystem", "TestSupport", "CMMLogCore"]),
    .testTarget(
      name: "MMLogCrashTests",
      dependencies: ["MMLogCrash", "MMLogSystem", "TestSupport"]),
    .testTarget(
      name: "MMLogTests",
      dependencies: [
        "MMLog", "MMLogTaps", "MMLogAnalysis", "MMLogReader", "MMLogStorage", "MMLogFormat",
        "MMLogCrypto", "MMLogSystem", "TestSupport", "WrapperLibrary", "CMMLogWriter",
        "CMMLogCore",
      ]),
    .target(name: "WrapperLibrary", dependencies: ["MMLog"], path: "Tests/WrapperLibrary"),
    .testTarget(
      name: "MMLogFormatTests",
      dependencies: ["MMLogFormat", "MMLogSystem", "TestSupport", "CMMLogCore"]),
    .testTarget(
      name: "MMLogStorageTests",
      dependencies: [
        "MMLogAnalysis", "MMLogStorage", "MMLogFormat", "MMLogCrypto", "MMLogSystem", "MMLog",
        "MMLogReader", "TestSupport", "mmlog-decode", "mmlogctl",
      ]),
    .testTarget(
      name: "MMLogReaderTests",
      dependencies: [
        "MMLogReport", "MMLogAnalysis", "MMLogReader", "MMLogStorage", "MMLogFormat", "MMLogSystem",
        "TestSupport",
      ]),
    .testTarget(
      name: "MMLogAnalysisTests",
      dependencies: ["MMLogAnalysis", "MMLogReader", "MMLogFormat", "TestSupport"]),
    .testTarget(
      name: "MMLogReceivingTests",
      dependencies: [
        "MMLogReceiving", "MMLogStorage", "MMLogFormat", "MMLogSystem", "TestSupport",
      ]),
    .testTarget(
      name: "MMLogShippingTests",
      dependencies: [
        "MMLogShipping", "MMLog", "MMLogReader", "MMLogStorage", "MMLogFormat", "MMLogSystem",
        "TestSupport",
      ]),
    .testTarget(
      name: "MMLogReportTests",
      dependencies: ["MMLogReport", "MMLogReader", "MMLogFormat", "TestSupport"]),
    .testTarget(
      name: "MMLogHTTPTests",
      dependencies: [
        "MMLogHTTP", "MMLog", "MMLogReader", "MMLogFormat", "MMLogSystem", "TestSupport",
      ]),
    .testTarget(
      name: "MMLogURLSessionTests",
      dependencies: [
        "MMLogURLSession", "MMLogHTTP", "MMLog", "MMLogReader", "MMLogStorage", "MMLogFormat",
        "MMLogSystem", "TestSupport", "mmlog-failed-requests",
      ]),
    .testTarget(
      name: "MMLogOpenAPITests",
      dependencies: [
        "MMLogOpenAPI", "MMLogHTTP", "MMLog", "MMLogReader", "MMLogFormat", "TestSupport",
        product("OpenAPIRuntime", of: "swift-openapi-runtime", if: "OpenAPI"),
        product("HTTPTypes", of: "swift-http-types", if: "OpenAPI"),
      ]),
    .testTarget(
      name: "MMLogHummingbirdTests",
      dependencies: [
        "MMLogHummingbird", "MMLogAsyncHTTPClient", "MMLogServiceLifecycle", "MMLogSwiftLog",
        "MMLogHTTP", "MMLog", "MMLogReader", "MMLogStorage", "MMLogFormat", "MMLogSystem",
        "TestSupport",
        product("Hummingbird", of: "hummingbird", if: "Hummingbird"),
        product("HTTPTypes", of: "swift-http-types", if: "Hummingbird"),
        product("AsyncHTTPClient", of: "async-http-client", if: "AsyncHTTPClient"),
        product("NIOCore", of: "swift-nio", if: "AsyncHTTPClient"),
        product("NIOHTTP1", of: "swift-nio", if: "AsyncHTTPClient"),
        product("ServiceLifecycle", of: "swift-service-lifecycle", if: "ServiceLifecycle"),
        product("Logging", of: "swift-log", if: "SwiftLog"),
      ]),
    .testTarget(
      name: "MMLogMetricsTests",
      dependencies: [
        "MMLogMetrics", "MMLog", "MMLogReader", "MMLogStorage", "MMLogFormat", "MMLogSystem",
        "TestSupport",
        product("CoreMetrics", of: "swift-metrics", if: "Metrics"),
      ]),
    .testTarget(
      name: "MMLogTracingTests",
      dependencies: [
        "MMLogTracing", "MMLog", "MMLogReader", "MMLogFormat", "TestSupport",
        product("Tracing", of: "swift-distributed-tracing", if: "Tracing"),
      ]),
    .testTarget(
      name: "MMLogSwiftLogTests",
      dependencies: [
        "MMLogSwiftLog", "MMLog", "MMLogReader", "MMLogFormat", "TestSupport",
        product("Logging", of: "swift-log", if: "SwiftLog"),
        product("InMemoryLogging", of: "swift-log", if: "SwiftLog"),
      ]),
    .target(name: "CCalls", dependencies: ["CMMLogC"], path: "Tests/CCalls"),
    .testTarget(
      name: "MMLogCTests",
      dependencies: [
        "MMLogC", "CMMLogC", "CCalls", "MMLog", "MMLogAnalysis", "MMLogReader", "MMLogStorage",
        "MMLogSystem", "TestSupport", "mmlog-decode", "mmlog-c-service",
      ]),
    .testTarget(
      name: "DecodeTests",
      dependencies: [
        "mmlog-decode", "mmlogctl", "mmlog-pipe", "mmlog-demo", "mmlog-incident",
        "CommandLineTool", "MMLog", "MMLogAnalysis", "MMLogReader", "MMLogStorage", "MMLogFormat",
        "MMLogSystem", "TestSupport",
      ]),
    // Processes that are killed: what they log, the campaign that kills them, and what cuts their
    // power.
    .target(
      name: "CrashRecords",
      dependencies: ["MMLog", "MMLogC", "CMMLogC", "CCalls", "MMLogSystem", "CMMLogCore"],
      path: "Tests/CrashRecords"),
    .executableTarget(
      name: "mmlog-crash-child",
      dependencies: [
        "CrashRecords", "CCalls", "MMLog", "MMLogC", "CMMLogC", "MMLogReader", "MMLogStorage",
        "MMLogSystem", "TestSupport", "CMMLogCore", "CommandLineTool",
      ],
      path: "Tests/CrashChild"),
    .target(
      name: "CrashCampaign",
      dependencies: [
        "CrashRecords", "TestSupport", "MMLogAnalysis", "MMLogReader", "MMLogStorage",
        "MMLogFormat", "MMLogCrypto", "MMLogSystem",
      ],
      path: "Tests/CrashCampaign"),
    .testTarget(
      name: "CrashTests",
      dependencies: [
        "CrashCampaign", "CrashRecords", "MMLogAnalysis", "MMLogReader", "MMLogStorage",
        "MMLogFormat", "MMLogSystem", "TestSupport", "mmlog-crash-child", "mmlog-pipe",
        "mmlog-decode",
      ]),
    .executableTarget(
      name: "mmlog-torture",
      dependencies: [
        "CrashCampaign", "CrashRecords", "TestSupport", "MMLogShipping", "MMLog", "MMLogAnalysis",
        "MMLogReader", "MMLogFormat", "MMLogStorage", "MMLogSystem",
        "CommandLineTool",
      ],
      path: "Tests/Torture"),
    .testTarget(
      name: "CommandLineToolTests",
      dependencies: ["CommandLineTool", "MMLogSystem", "TestSupport"]),
  ]
)

// Built by Tools/fuzz alone: it needs libFuzzer's main function.
if Context.environment["MMLOG_FUZZ"] != nil {
  package.targets.append(
    .executableTarget(
      name: "mmlog-fuzz",
      dependencies: [
        "MMLogHTTP", "MMLog", "MMLogReceiving", "MMLogShipping", "MMLogReport", "MMLogAnalysis",
        "MMLogReader", "MMLogStorage", "MMLogFormat", "MMLogCrypto", "MMLogSystem", "TestSupport",
        "CMMLogWriter",
      ],
      path: "Tests/Fuzz", exclude: ["mmlog.dict"]))
}

// What sends logs to others, and receives them, needs libcurl, libdeflate, librdkafka and
// libmicrohttpd, which nobody who logs or reads has to have: Tools/setup --ship installs them.
if Context.environment["MMLOG_SHIP"] != nil {
  package.products.append(.executable(name: "mmlog-receive", targets: ["mmlog-receive"]))
  package.products.append(.executable(name: "mmlog-ship", targets: ["mmlog-ship"]))
  package.targets += [
    .systemLibrary(
      name: "CCurl", pkgConfig: "libcurl",
      providers: [.apt(["libcurl4-openssl-dev"]), .brew(["curl"])]),
    .systemLibrary(
      name: "CRDKafka", pkgConfig: "rdkafka",
      providers: [.apt(["librdkafka-dev"]), .brew(["librdkafka"])]),
    .target(
      name: "MMLogDestinations",
      dependencies: [
        "MMLogShipping", "MMLogReader", "MMLogStorage", "MMLogFormat", "MMLogJSON", "MMLogSystem",
        "CCurl", "CLibDeflate", "CRDKafka",
      ]),
    .executableTarget(
      name: "mmlog-ship",
      dependencies: [
        "MMLogDestinations", "MMLogShipping", "MMLogAnalysis", "MMLogReader", "MMLogStorage",
        "MMLogFormat", "LogCommands", "CommandLineTool", "MMLogSystem",
      ]),
    .testTarget(
      name: "MMLogDestinationsTests",
      dependencies: [
        "mmlog-ship", "mmlog-receive", "MMLogDestinations", "MMLogShipping", "MMLog",
        "MMLogReader", "MMLogStorage", "MMLogFormat", "MMLogSystem", "TestSupport", "CRDKafka",
      ],
      exclude: ["Servers"]),
    .systemLibrary(
      name: "CMicroHTTPD", pkgConfig: "libmicrohttpd",
      providers: [.apt(["libmicrohttpd-dev"]), .brew(["libmicrohttpd"])]),
    .executableTarget(
      name: "mmlog-receive",
      dependencies: [
        "MMLogReceiving", "MMLogReader", "MMLogStorage", "LogCommands", "CommandLineTool",
        "MMLogSystem", "CMicroHTTPD",
      ]),
    .testTarget(
      name: "ReceiveTests",
      dependencies: [
        "mmlog-receive", "mmlog-decode", "mmlogctl", "MMLogReceiving", "MMLogDestinations",
        "MMLogShipping", "MMLogReader", "MMLogStorage", "MMLogFormat", "MMLogSystem", "TestSupport",
      ]),
  ]
}

// Of the tests only those of these targets, such as "MMLogTests|MMLogSystemTests": all of them take
// minutes to compile, and builds with other traits or a sanitizer run few.
if let kept = Context.environment["MMLOG_TESTS"]?.split(separator: "|") {
  package.targets.removeAll { $0.type == .test && !kept.contains(Substring($0.name)) }
}

let writtenInC: Set = [
  "CMMLogCore", "CMMLogWriter", "CMMLogSignals", "CMMLogC", "CCalls", "mmlog-c-service",
]
let strict = Context.environment["MMLOG_WARNINGS_AS_ERRORS"] != nil

for target in package.targets where target.type != .system {
  target.swiftSettings = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
  ]
  if strict {
    target.swiftSettings?.append(.treatAllWarnings(as: .error))
    if writtenInC.contains(target.name) {
      target.cSettings = [.unsafeFlags(["-Wall", "-Wextra", "-Werror"])]
    }
  }
}
