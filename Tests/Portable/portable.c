// Tests of the parts in C that differ from processor to processor. Plain C, so that Swift need not run
// on the machine: Tests/Integration/check_arm64.sh builds them for arm64 and runs them under QEMU.
//
// Prints what other machines have to print, too: values that follow from a fixed seed. Exit status 1:
// something is wrong.

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "CMMLogCore.h"
#include "CMMLogWriter.h"

static int failures;

#define CHECK(condition, ...)                                  \
  do {                                                         \
    if (!(condition)) {                                        \
      fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition); \
      fprintf(stderr, __VA_ARGS__);                            \
      fputc('\n', stderr);                                     \
      failures++;                                              \
    }                                                          \
  } while (0)

// SplitMix64 (Steele et al., 2014).
static uint64_t state = 20251125;
static uint64_t next_random(void) {
  uint64_t z = (state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

static unsigned char memory[4096 + 64];

static void fill_memory(void) {
  for (size_t i = 0; i < sizeof memory; i++) memory[i] = (unsigned char)next_random();
}

// The polynomial, bit by bit.
static uint32_t crc_by_bits(uint32_t crc, const unsigned char *bytes, size_t count) {
  for (size_t i = 0; i < count; i++) {
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
  }
  return crc;
}

static void checksums(void) {
  CHECK(~mmlog_crc32c_bytes(~0u, "123456789", 9) == 0xe3069283, "the published check value");
  for (int round = 0; round < 3000; round++) {
    size_t start = next_random() % 16, count = next_random() % (round % 2 ? 4096 : 48);
    uint32_t seed = (uint32_t)next_random();
    const unsigned char *bytes = memory + start;
    uint32_t expected = crc_by_bits(seed, bytes, count);
    CHECK(mmlog_crc32c_bytes(seed, bytes, count) == expected, "round %d", round);
    CHECK(mmlog_crc32c_bytes_portable(seed, bytes, count) == expected, "round %d", round);
    uint32_t words = mmlog_crc32c_words(seed, bytes, count / 8);
    CHECK(words == crc_by_bits(seed, bytes, count / 8 * 8), "round %d", round);
    if (!mmlog_crc32c_in_hardware) continue;
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    CHECK(mmlog_crc32c_word(seed, word) == crc_by_bits(seed, bytes, 8), "round %d", round);
    CHECK(mmlog_crc32c_at(seed, bytes) == crc_by_bits(seed, bytes, 8), "round %d", round);
    CHECK(mmlog_crc32c_half(seed, (uint32_t)word) == crc_by_bits(seed, bytes, 4), "round %d", round);
  }
  printf("crc %08x\n", mmlog_crc32c_bytes(1, memory, sizeof memory));
}

static void texts(void) {
  for (int round = 0; round < 2000; round++) {
    unsigned char text[64];
    for (int i = 0; i < 64; i++)
      text[i] = round % 2 ? (unsigned char)next_random() : "09azAZ/:@[`{ \x7f\x80"[next_random() % 15];
    uint8_t limit = (uint8_t)next_random();
    struct mmlog_text_masks masks = mmlog_text_masks(text, limit);
    for (int i = 0; i < 64; i++) {
      bool digit = text[i] >= '0' && text[i] <= '9', low = text[i] < limit;
      bool letter = (text[i] >= 'a' && text[i] <= 'z') || (text[i] >= 'A' && text[i] <= 'Z');
      CHECK((masks.digits >> i & 1) == digit, "round %d byte %d", round, i);
      CHECK((masks.alphanumerics >> i & 1) == (digit || letter), "round %d byte %d", round, i);
      CHECK((masks.below >> i & 1) == low, "round %d byte %d", round, i);
    }
  }
  const double numbers[] = {0, -0.0, 1.5, 1e300, 5e-324, 12345.678, 1.0 / 3, -2.5e-7};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    char text[400];
    for (const char *conversion = "feg"; *conversion; conversion++) {
      int count = mmlog_format_double(text, sizeof text, *conversion, 6, numbers[i]);
      printf("%c %.*s\n", *conversion, count, text);
    }
  }
  const char *haystack = (const char *)memory;
  for (int round = 0; round < 200; round++) {
    size_t start = next_random() % 4000, count = 1 + next_random() % 20;
    const void *found = mmlog_find(haystack, sizeof memory, haystack + start, count);
    CHECK(found && !memcmp(found, haystack + start, count), "round %d", round);
  }
}

static void formats(void) {
  const char *const examples[] = {
      "order %d accepted for %s in %.2f ms", "%hhd %hd %ld %lld %zd %jd %td", "%u %x %X %o %hhu %llx",
      "%-08d|%+5ld|% d|%#x|%5.3s|%.*s|%%", "%p %c %m %g %e %G", "%a", "%*d", "", "plain", "%"};
  for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
    mmlog_planned plan[MMLOG_PLANNED];
    uint32_t parts = 0;
    int count = mmlog_plan(examples[i], plan, &parts);
    printf("plan %d %u:", count, count < 0 ? 0 : parts);
    for (int argument = 0; argument < count; argument++) printf(" %u", plan[argument]);
    printf("\n");
    const char *format = examples[i];
    mmlog_directive directive;
    while (mmlog_next_directive(&format, &directive))
      printf("  %d %zu %u %u %u %u %u\n", directive.kind, directive.length, directive.type,
          directive.width, directive.format, directive.alignment, directive.longest);
  }
}

// Messages through a ring of words: what was stored before a release is there after an acquire.
enum { MESSAGES = 100000, PLACES = 64 };
static uint64_t places[PLACES], written, taken;

static void *write_messages(void *unused) {
  for (uint64_t i = 0; i < MESSAGES; i++) {
    while (i - mmlog_load_acquire_u64(&taken) >= PLACES) sched_yield();
    mmlog_store_relaxed_u64(&places[i % PLACES], i * 0x9e3779b97f4a7c15);
    mmlog_store_release_u64(&written, i + 1);
  }
  return unused;
}

static void orderings(void) {
  pthread_t writer;
  CHECK(pthread_create(&writer, NULL, write_messages, NULL) == 0, "no thread");
  for (uint64_t i = 0; i < MESSAGES; i++) {
    while (mmlog_load_acquire_u64(&written) <= i) sched_yield();
    uint64_t found = mmlog_load_relaxed_u64(&places[i % PLACES]);
    CHECK(found == i * 0x9e3779b97f4a7c15, "message %llu", (unsigned long long)i);
    mmlog_store_release_u64(&taken, i + 1);
  }
  pthread_join(writer, NULL);
}

static void ticks(void) {
  uint64_t last = mmlog_ticks();
  for (int i = 0; i < 1000; i++) {
    uint64_t now = mmlog_ticks();
    CHECK(now >= last, "ticks went back from %llu to %llu", (unsigned long long)last, (unsigned long long)now);
    last = now;
  }
  uint64_t clock = mmlog_ticks_from_clock();
  CHECK(mmlog_ticks_from_clock() >= clock, "the clock went back");
}

// What goes with a record is copied by four words at a time, whatever their number.
static void contexts(void) {
  size_t size = sizeof(mmlog_context) + (20 + MMLOG_CONTEXT_PADDING) * sizeof(uint64_t);
  mmlog_context *context = calloc(1, size);
  uint64_t target[24 + MMLOG_CONTEXT_PADDING];
  for (uint32_t count = 1; count <= 20; count++) {
    context->count = count;
    uint64_t *words = mmlog_context_words(context);
    for (uint32_t i = 0; i < count; i++) words[i] = next_random();
    memset(target, 0xee, sizeof target);
    mmlog_copy_context(target, context);
    CHECK(!memcmp(target, words, count * sizeof *words), "%u words", count);
  }
  free(context);
}

int main(void) {
  fill_memory();
  checksums();
  texts();
  formats();
  orderings();
  ticks();
  contexts();
  if (failures) fprintf(stderr, "%d checks failed\n", failures);
  return failures != 0;
}
