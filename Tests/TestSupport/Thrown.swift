/// What `body` throws; nil if that is nothing, or an error of another type.
package func thrown<Thrown: Error>(
  _: Thrown.Type, by body: () throws -> Void
) -> Thrown? {
  do {
    try body()
    return nil
  } catch {
    return error as? Thrown
  }
}
