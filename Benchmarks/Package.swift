// swift-tools-version: 6.2

import PackageDescription

let settings: [SwiftSetting] = [.swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny")]

// A package of its own, so that what benchmarks need never reaches users of mmlog.
let package = Package(
  name: "mmlog-benchmarks",
  // For SwiftLog, which is a package of its own.
  products: [.library(name: "CHarness", targets: ["CHarness"])],
  // The trait Encryption costs stores without recipients nothing. Both kinds are measured.
  dependencies: [.package(name: "mmlog", path: "..", traits: ["Encryption"])],
  targets: [
    .target(name: "CHarness"),
    .target(name: "CFloor"),
    .target(
      name: "CxxLoggers",
      // As pkg-config says for Debian's libspdlog-dev.
      cxxSettings: [
        .define("SPDLOG_SHARED_LIB"), .define("SPDLOG_COMPILED_LIB"),
        .define("SPDLOG_FMT_EXTERNAL"),
      ],
      linkerSettings: [
        .linkedLibrary("spdlog"), .linkedLibrary("fmt"), .linkedLibrary("glog"),
      ]),
    .target(name: "CStatements", dependencies: [.product(name: "mmlog-c", package: "mmlog")]),
    .target(
      name: "MMLogCalls",
      dependencies: [
        "CStatements", .product(name: "MMLog", package: "mmlog"),
        .product(name: "MMLogHTTP", package: "mmlog"),
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "benchmarks",
      dependencies: [
        "CHarness", "CFloor", "CxxLoggers", "MMLogCalls",
        .product(name: "MMLog", package: "mmlog"),
        .product(name: "MMLogReader", package: "mmlog"),
        .product(name: "mmlog-decode", package: "mmlog"),
      ],
      swiftSettings: settings),
    // Small on its own, and without the peers' libraries: it is run under callgrind.
    .executableTarget(
      name: "counts",
      dependencies: [
        "CHarness", "CStatements", "MMLogCalls", .product(name: "MMLog", package: "mmlog"),
        .product(name: "MMLogShipping", package: "mmlog"),
        .product(name: "mmlog-c", package: "mmlog"),
      ],
      swiftSettings: settings),
  ],
  cxxLanguageStandard: .cxx17
)
