// swift-tools-version: 6.3

import PackageDescription

// A package of its own, because it needs Vapor. Its folder cannot be called Vapor: SwiftPM would
// take the folder for that package.
let package = Package(
  name: "mmlog-vapor-example",
  dependencies: [
    .package(name: "mmlog", path: "../..", traits: ["SwiftLog"]),
    .package(url: "https://github.com/vapor/vapor.git", from: "4.122.0"),
    .package(url: "https://github.com/apple/swift-log.git", from: "1.13.0"),
  ],
  targets: [
    .executableTarget(
      name: "orders",
      dependencies: [
        .product(name: "MMLogSwiftLog", package: "mmlog"),
        .product(name: "Vapor", package: "vapor"),
        .product(name: "Logging", package: "swift-log"),
      ],
      path: ".", swiftSettings: [.treatAllWarnings(as: .error)])
  ]
)
