import Foundation

/// Whether the tests are built with a sanitizer: it makes a process many times as slow, and takes memory of its own.
package var isSanitized: Bool {
  dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil
}
