/// The version of mmlog, as `--version` of each program prints it: major, minor and patch of
/// [semantic versioning](https://semver.org). `Tools/release` reads it here, and puts it into
/// everything that it makes.
package let mmlogVersion = "1.3.0"
