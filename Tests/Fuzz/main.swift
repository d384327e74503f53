// Feeds decoders with what libFuzzer makes up. Tools/fuzz builds and runs it.
//
//   mmlog-fuzz <target> <corpus> [libFuzzer's options]
//   mmlog-fuzz seeds <folder of logs> <corpus>       makes a first corpus for every target
//   mmlog-fuzz targets
import Glibc

var arguments = CommandLine.arguments
let name = arguments.count > 1 ? arguments.remove(at: 1) : ""
switch name {
case "targets":
  for target in Target.allCases { print(target) }
case "seeds" where arguments.count == 3:
  try writeSeeds(of: arguments[1], to: arguments[2])
default:
  guard let target = Target(rawValue: name) else {
    print("usage: mmlog-fuzz TARGET CORPUS [OPTION…] | seeds LOGS CORPUS | targets")
    exit(2)
  }
  Target.chosen = target
  run(arguments)
}

/// Never returns; libFuzzer ends the process.
func run(_ arguments: [String]) -> Never {
  var count = CInt(arguments.count)
  var words = arguments.map { strdup($0) } + [nil]
  let status = words.withUnsafeMutableBufferPointer { words in
    var start = words.baseAddress
    return withUnsafeMutablePointer(to: &start) {
      fuzzerRunDriver(&count, $0, { fuzzOne($0, $1) })
    }
  }
  exit(status)
}

/// What libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  Target.chosen.read(UnsafeRawBufferPointer(start: start, count: count))
  return 0
}

@_silgen_name("LLVMFuzzerRunDriver")
func fuzzerRunDriver(
  _ count: UnsafeMutablePointer<CInt>,
  _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
  _ body: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt
