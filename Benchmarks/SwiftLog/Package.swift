// swift-tools-version: 6.2

import PackageDescription

// A package of its own, because it needs swift-log.
let package = Package(
  name: "mmlog-swift-log-benchmark",
  dependencies: [
    .package(name: "mmlog", path: "../..", traits: ["SwiftLog"]),
    .package(path: ".."),
    .package(url: "https://github.com/apple/swift-log.git", from: "1.13.0"),
  ],
  targets: [
    .executableTarget(
      name: "swift-log-benchmark",
      dependencies: [
        .product(name: "MMLog", package: "mmlog"),
        .product(name: "MMLogSwiftLog", package: "mmlog"),
        .product(name: "CHarness", package: "Benchmarks"),
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "Sources",
      swiftSettings: [.swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny")])
  ]
)
