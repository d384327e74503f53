import MMLogStorage
import Synchronization

/// What a directory holds when a store comes to a step for the first time: what a process that dies
/// there would leave.
final class StepImage: Sendable {
  private let taken = Mutex<Image?>(nil)
  private let folder: String
  private let step: TestPoint
  /// The image that is waited for. There is never more than one.
  private static let current = Mutex<StepImage?>(nil)

  /// Waits for a step from now on, until the image is asked for.
  init(_ step: TestPoint, of folder: String) {
    (self.step, self.folder) = (step, folder)
    Self.current.withLock { $0 = self }
    #if DEBUG
      TestPoint.handler = { reached in StepImage.reach(reached) }
    #endif
  }

  /// Nil if the store has not come there.
  var image: Image? {
    Self.current.withLock { $0 = nil }
    return taken.withLock { $0 }
  }

  private static func reach(_ point: TestPoint) {
    guard let waiting = current.withLock({ $0 }), waiting.step == point else { return }
    waiting.taken.withLock { taken in
      if taken == nil { taken = try? Image(reading: waiting.folder, isRebooted: false) }
    }
  }
}
