// swift-tools-version: 6.2

import PackageDescription

// A package of its own, so that what benchmarks need never reaches users of mmlog.
let package = Package(
  name: "mmlog-benchmarks",
  dependencies: [.package(name: "mmlog", path: "..")],
  targets: [
    .target(name: "CFloor"),
    .executableTarget(
      name: "hot-path",
      dependencies: [.product(name: "MMLog", package: "mmlog"), "CFloor"],
      swiftSettings: [.swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny")]),
  ]
)
