import Foundation

/// Whether the tests are built with a sanitizer: it makes a process many times as slow, and takes
/// memory of its own.
package var isSanitized: Bool { hasThreadSanitizer || dlsym(nil, "__asan_init") != nil }

/// Whether the tests are built with the thread sanitizer. It supports no threads in a child of
/// fork.
package var hasThreadSanitizer: Bool { dlsym(nil, "__tsan_init") != nil }
