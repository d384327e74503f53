// mmlog for C and C++: a log that survives the death of the process.
//
//     mmlog_options options = {
//         .size = sizeof options, .directory = "/var/log/orders", .name = "orders"};
//     mmlog_failure failure;
//     mmlog_store *store = mmlog_open(&options, &failure);
//     if (store == NULL) {
//       fprintf(stderr, "%s\n", failure.message);
//       exit(1);
//     }
//     mmlog_logger *log = mmlog_get_logger(store, "orders.matching");
//
//     mmlog_info(log, "order %d accepted for %s in %.2f ms", id, user, elapsed);
//
//     mmlog_close(store, NULL);
//
// A log statement writes its arguments, in binary, into a mapped file whose pages the kernel owns:
// when the statement returns, the record outlives the process. The statement makes no text;
// mmlog-decode does that later. Below the logger's level, a statement costs a load and a branch,
// and its arguments are not evaluated.
//
// Unless a comment says otherwise, functions may be called from any thread at any time, leave errno
// as it was if they return nothing, and must not be called in signal handlers. Text is UTF-8. Bytes
// that are not valid UTF-8 are shown as U+FFFD; in names of directories, files and groups, they are
// an error. Functions copy strings that they need after the call.
//
// Needs GCC or Clang, C11 or C++11. `pkg-config --cflags --libs mmlog` prints the flags to build
// with.

#ifndef MMLOG_H
#define MMLOG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Levels, from the least important to the most important. 0 stands for the default where a level
// can be left out. MMLOG_OFF, as a lowest level, lets no record pass. No record has one of these
// two as its level.
typedef enum mmlog_level {
  MMLOG_LEVEL_DEFAULT = 0,
  MMLOG_TRACE = 1,
  MMLOG_DEBUG = 2,
  MMLOG_INFO = 3,
  MMLOG_NOTICE = 4,
  MMLOG_WARNING = 5,
  MMLOG_ERROR = 6,
  MMLOG_CRITICAL = 7,
  MMLOG_OFF = 8,
} mmlog_level;

// ---- What can fail

typedef enum mmlog_failure_code {
  // An option is out of its range, or two contradict each other.
  MMLOG_FAILURE_ARGUMENT = 1,
  // The system refused something; see system_error.
  MMLOG_FAILURE_SYSTEM = 2,
  // No space left for the ring or the archive.
  MMLOG_FAILURE_SPACE = 3,
  // Something took longer than it was allowed to.
  MMLOG_FAILURE_TIMEOUT = 4,
  // The store was closed before.
  MMLOG_FAILURE_CLOSED = 5,
  // Users other than the process's could replace what is in the directory.
  MMLOG_FAILURE_DIRECTORY = 6,
  // The machine lacks something that mmlog needs.
  MMLOG_FAILURE_UNSUPPORTED = 7,
  MMLOG_FAILURE_OTHER = 8,
} mmlog_failure_code;

// What failed. Functions that fail fill it in. Functions that do not fail leave it as it was.
typedef struct mmlog_failure {
  mmlog_failure_code code;
  int system_error;    // the error number of the system call behind it, or 0
  char message[1008];  // what failed and how to fix it, for people; it names the path
} mmlog_failure;

// ---- What a store reports

// The kind of an event. Later versions may add kinds.
typedef enum mmlog_event_kind {
  // An event that this header has no name for.
  MMLOG_EVENT_OTHER = 0,
  // Archives cannot be written, or a ring cannot be made or recovered; the store tries again by
  // itself. Also reports a wrong part of MMLOG_LEVEL, and, once for each name, a state slot whose
  // values go nowhere.
  MMLOG_EVENT_FAILED = 1,
  // Archives can be written again, after MMLOG_EVENT_FAILED or MMLOG_EVENT_STALLED.
  MMLOG_EVENT_RESUMED = 2,
  // Archives have not been written for `number` milliseconds: the disk hangs. Not reported again
  // until they are written.
  MMLOG_EVENT_STALLED = 3,
  // `number` records were lost since the store was opened, or since a lost ring was replaced. The
  // number includes the records of earlier events of this kind, but not records that were only cut.
  MMLOG_EVENT_DROPPED = 4,
  // Somebody renamed, removed, replaced or cut `path`.
  MMLOG_EVENT_TAKEN_AWAY = 5,
  // The file system has `number` bytes left, less than retention_free_space asks for. Not reported
  // again until there is enough.
  MMLOG_EVENT_LOW_SPACE = 6,
  // A limit does not hold, because `number` archives must not be deleted. Not reported again until
  // the limit holds.
  MMLOG_EVENT_LIMIT_EXCEEDED = 7,
  // The archive `path` could not be deleted; the store tries again.
  MMLOG_EVENT_NOT_DELETED = 8,
  // The console cannot be written to; the store tries again. Not reported again until
  // MMLOG_EVENT_CONSOLE_RESUMED.
  MMLOG_EVENT_CONSOLE_FAILED = 9,
  // The console shows records again. It has missed `number` records since the store was opened.
  MMLOG_EVENT_CONSOLE_RESUMED = 10,
  // `number` percent of the ring are in use, 75 or more. Not reported again until less than half is
  // in use.
  MMLOG_EVENT_RING_FILLING = 11,
  // Archives that are not uploaded take `number` bytes: pending_threshold or more. Not reported
  // again until they take less.
  MMLOG_EVENT_PENDING_REACHED = 12,
  // All archives take `number` bytes: size_threshold or more. Not reported again until they take
  // less.
  MMLOG_EVENT_SIZE_REACHED = 13,
  // The archive `path` is about to be closed; was closed; was closed and is synced, so that it may
  // be passed on.
  MMLOG_EVENT_WILL_ROTATE = 14,
  MMLOG_EVENT_ROTATED = 15,
  MMLOG_EVENT_SEALED = 16,
  // A limit is about to delete the archive `path`; the archive was deleted.
  MMLOG_EVENT_WILL_DELETE = 17,
  MMLOG_EVENT_DELETED = 18,
  // A session whose process had died without mmlog_close was recovered, with `number` records.
  MMLOG_EVENT_RECOVERED = 19,
  // `number` flight records were captured.
  MMLOG_EVENT_CAPTURED = 20,
  // Somebody outside has set levels (mmlogctl set-level), or has ended such a setting.
  MMLOG_EVENT_LEVELS_SET = 21,
} mmlog_event_kind;

// Something that a store has done or will do, or that has happened to it. The event, and what it
// points to, last until the handler returns.
typedef struct mmlog_event {
  size_t size;  // how much of this structure the library knows; members may be added at its end
  mmlog_event_kind kind;
  bool is_trouble;   // somebody should act; without a handler, it is a line on standard error
  const char *text;  // what happened, and what to do if it is trouble; for people, in one line
  const char *path;  // the file that the event is about; "" if there is none
  uint64_t number;   // see the kind; else 0
  int system_error;  // the error number of the system call behind it, or 0
} mmlog_event;

// ---- Stores

// A directory of logs, and this process's place in it.
typedef struct mmlog_store mmlog_store;

// A value by name; see "Named fields".
typedef struct mmlog_field mmlog_field;

// What a log statement does when the ring is full, because the archive cannot be written as fast as
// records come.
typedef enum mmlog_full_ring {
  // Wait for space, at most full_ring_wait_ms; then drop the record, and count it.
  MMLOG_FULL_WAIT = 0,
  // Drop the record, and count it.
  MMLOG_FULL_DROP = 1,
  // Discard the oldest records, and count them as lost.
  MMLOG_FULL_OVERWRITE = 2,
} mmlog_full_ring;

// Times at which archives are closed.
typedef enum mmlog_rotation_period {
  MMLOG_ROTATE_BY_LIMITS = 0,  // none: size and age decide
  MMLOG_ROTATE_HOURLY = 1,     // at rotation_minute of each hour
  MMLOG_ROTATE_DAILY = 2,      // at rotation_hour and rotation_minute
  MMLOG_ROTATE_WEEKLY = 3,     // the same, on rotation_weekday
} mmlog_rotation_period;

typedef enum mmlog_compression {
  MMLOG_COMPRESSION_ZLIB = 0,  // which every reader has
  MMLOG_COMPRESSION_ZSTD = 1,  // text in half the time; for builds with the trait Zstd
} mmlog_compression;

typedef enum mmlog_console_format {
  MMLOG_CONSOLE_TEXT = 0,  // lines for people, with colors on a terminal
  MMLOG_CONSOLE_JSON = 1,  // one JSON object in each line
} mmlog_console_format;

// How a store works. Set `size`, `directory` and `name`. A member that is 0 stands for its default.
// docs/OPERATIONS.md has more about each.
//
// These settings exist in Swift only: privacy by default (in C, a value is private only if the
// statement says so), taps other than the console, and decisions about single archives (an
// observer's mayDelete, shouldSeal). mmlogctl and mmlog-ship pin and upload archives.
typedef struct mmlog_options {
  // sizeof(mmlog_options): says which members this program knows.
  size_t size;
  // Where the archives are. If the directory does not exist, it is made, with mode 0700. With
  // file_mode 0640 or 0644, users who may read the files may also read the directory. A relative
  // path, also that of the ring, begins at the working directory of the moment at which the store
  // is opened.
  const char *directory;
  // The beginning of all file names: 1 to 100 bytes without slashes.
  const char *name;
  // Where the ring is, such as /dev/shm/orders. Default: beside the archives. Each directory of
  // archives needs one of its own: a store recovers all dead rings there that have its name.
  const char *ring_directory;
  // Bytes, 256 KiB to 4 GiB. Default: 8 MiB.
  size_t ring_size;
  // Bytes, a multiple of 4096, 4 KiB to 16 MiB. Default: a 64th of the ring, 256 KiB at most.
  size_t segment_size;
  // Bytes of the ring for the static parts of statements, a multiple of 4096, 4 KiB to 64 MiB.
  // Default: an eighth of the ring, 1 MiB at most, which is enough for some 2,500 statements.
  size_t dictionary_size;
  // The lowest level that is recorded. Default: info.
  mmlog_level level;
  // Records below this level stay in the ring, as a flight recorder. Default: trace, no record
  // does.
  mmlog_level archive_level;
  // The level from which on a record makes the store archive these, too. Default: error.
  mmlog_level capture_level;
  // The level from which on records are archived and synced within a second, or within
  // drain_interval_ms if that is less. Default: no records are.
  mmlog_level sync_level;
  // What a log statement does when the ring is full. Default: wait.
  mmlog_full_ring full_ring;
  // How long a statement waits at most, in milliseconds. Default: 1000.
  uint32_t full_ring_wait_ms;
  // How long a record may wait to be archived, in milliseconds: 10 or more, and an hour at most.
  // Default: 30000.
  uint32_t drain_interval_ms;
  // How often archives are synced, in milliseconds, 10 or more. Default: when they are closed, and
  // by mmlog_flush.
  uint32_t sync_interval_ms;
  // Bytes after which the next archive is begun, 4 KiB or more. Default: 64 MiB. For this and the
  // limits below, -1 means that there is no such limit.
  uint64_t rotation_size;
  // Seconds after which the next archive is begun. Default: a day.
  uint32_t rotation_age_s;
  // Bytes of archives that are kept. Default: 1 GiB.
  uint64_t retention_total_size;
  // How many seconds archives are kept. Default: for ever.
  uint32_t retention_age_s;
  // How many archives are kept. Default: any number.
  uint32_t retention_count;
  // Whether fatal signals are recorded, with a backtrace. Their handlers call the handlers that
  // were set before.
  bool records_crashes;
  // Whether mmlog_signal_write works. Takes one segment of the ring.
  bool serves_signal_handlers;
  // Sets no handler for SIGBUS. The handler keeps the process alive if somebody cuts the ring's
  // file.
  bool no_fault_containment;
  // Whether the directory may belong to another user, or may let all users make files.
  bool allows_untrusted_directory;
  // Sets no handlers that note SIGTERM, SIGINT and SIGHUP. These then look like SIGKILL.
  bool no_termination_records;
  // The permission bits of files, such as 0640 for a collector of file_group. Only the owner may
  // have the right to write. Default: 0600.
  uint32_t file_mode;
  // The group of files: its name, or its number in decimal digits. Default: the group that the
  // system chooses.
  const char *file_group;
  // The recipients for whom ring and archives are encrypted: public keys of age, with commas
  // between them. Default: none, and nothing is encrypted. For builds with the trait Encryption.
  const char *recipients;
  // How many threads move records to archives: 1, or 2, one of which encodes frames. Default: 2, or
  // 1 if the calling thread may run on one processor only.
  uint32_t drain_threads;
  // Whether each frame of an archive has the hash of the frame before it, so that 'mmlog-decode
  // verify --anchor' finds what was changed or removed. For builds with the trait Encryption.
  bool hash_chain;
  // Whether records below archive_level that belong to a span are archived if the span fails, and
  // erased if it ends well.
  bool captures_spans;
  // They are also archived if the span takes longer than this, in milliseconds. Default: no limit.
  uint32_t captures_spans_slower_than_ms;
  // How far back a capture goes, in milliseconds, up to a day. Default: a minute.
  uint32_t capture_time_ms;
  // The period of calendar times at which archives are closed, too. Default: none.
  mmlog_rotation_period rotation_period;
  // From 0, Sunday, to 6.
  uint32_t rotation_weekday;
  uint32_t rotation_hour;
  uint32_t rotation_minute;
  // The time zone of the weekday, hour and minute, such as "Europe/Berlin". Default: UTC.
  const char *rotation_zone;
  // Whether a session goes on with the last archive that is there, in the same file.
  bool resumes_last_archive;
  // Compresses text with the same effort, however full the ring is: calls may wait for that.
  bool no_reduced_compression;
  // Bytes of the file system that are left free. Default: 5 % of it.
  uint64_t retention_free_space;
  // Bytes of the newest archives that are kept even if less space is free. -1: none. Default:
  // 64 MiB.
  uint64_t retention_minimum_size;
  // For how many crashes the archives around them are kept. -1: for none. Default: 1.
  uint32_t retention_crashes;
  // The greatest age, in seconds, of archives that retention_unsent_size keeps. Default: any age.
  uint32_t retention_unsent_age_s;
  // Bytes of archives that mmlog-ship has not shipped yet and that limits do not delete. -1: none;
  // INT64_MAX: all. Default: none.
  uint64_t retention_unsent_size;
  // The numbers of bytes from which on MMLOG_EVENT_PENDING_REACHED and MMLOG_EVENT_SIZE_REACHED are
  // reported. Default: never.
  uint64_t pending_threshold;
  uint64_t size_threshold;
  // What compresses archives. Default: zlib.
  mmlog_compression compression;
  // From 1, fastest, to 9, smallest; -1: not at all. Default: 1.
  int compression_level;
  // Values that all records of the process share, such as its version, and the number of these
  // values. They are copied.
  const mmlog_field *fields;
  size_t field_count;
  // The level from which on records are also shown on the console, within a second, after they were
  // archived. No log statement waits for the console. Default: no records are shown.
  mmlog_level console_level;
  mmlog_console_format console_format;
  // The descriptor that the console writes to. Default: 2, standard error.
  int console_descriptor;
  // Called for each event, from the opening on. Default: NULL; then the store writes trouble to
  // standard error, one line of each kind a minute.
  //
  // A thread of the store's own calls the handler, for one event after the other. No log statement
  // and no archive waits for the handler. It may take its time, log, and call any function of this
  // file. While it takes long, up to 1024 events wait; if there are more, the oldest are left out.
  // mmlog_close waits until the handler has had all events, unless the handler itself calls
  // mmlog_close. After that, and after an mmlog_open that has failed, the handler is not called.
  //
  // The store's threads block all signals from outside. A program that the handler starts inherits
  // that: give the program a signal mask (posix_spawnattr_setsigmask), or SIGTERM does not end it.
  void (*on_event)(const mmlog_event *event, void *context);
  // Called before (true) and after (false) a thread works on the store's files, for a device that
  // must be kept awake meanwhile. Default: NULL.
  //
  // The thread that works calls the function, and waits for it. At times several threads work, and
  // their pairs of calls overlap. The callers of mmlog_open and mmlog_close are among these
  // threads. The function must not wait for long, log into the store, or call a function of the
  // store that waits. For programs that it starts, the same applies as for on_event.
  void (*on_maintenance)(bool begins, void *context);
  // The context that both functions get.
  void *context;
} mmlog_options;

// Opens a store: makes the directory and maps a ring. Takes some milliseconds. After that, the
// store's own thread moves what dead processes of this name left in their rings to archives. The
// opening waits for this only with resumes_last_archive, or if more than four rings are left.
//
// Several processes may use the same directory and name. A child of fork(2) gets a ring of its own
// with its first record, which must not be a signal handler's.
//
// options  see mmlog_options; may be freed afterwards
// failure  if not NULL: what went wrong
//
// Returns the store, or NULL. A process that ends without mmlog_close loses nothing: the next
// process recovers its records.
mmlog_store *mmlog_open(const mmlog_options *options, mmlog_failure *failure);

// Sets the limits of rotation and retention while the store is open, from the options whose names
// begin with rotation_ and retention_. An option that is 0 stands for its default, as for
// mmlog_open. The other options do not count.
//
// Returns 0; or -1 if a limit is out of its range, and then nothing is changed.
int mmlog_set_limits(mmlog_store *store, const mmlog_options *options, mmlog_failure *failure);

// Ends the session: moves all records to archives, syncs these, removes the ring. Loggers stay
// valid; records logged afterwards are dropped. Whatever this returns, the store is gone, and must
// not be used again. NULL: does nothing.
//
// Some kilobytes of the store stay for as long as the process, because a log statement of another
// thread may have found them just before. Something points to them, so LeakSanitizer reports no
// leak.
//
// Returns 0; or -1 if the archive could not be written. Then the next mmlog_open recovers the
// records that are not in it.
int mmlog_close(mmlog_store *store, mmlog_failure *failure);

typedef enum mmlog_durability {
  MMLOG_FLUSH_ARCHIVE = 1,  // in an archive: can be read without the ring
  MMLOG_FLUSH_DISK = 2,     // synced to the disk: safe from a power cut
} mmlog_durability;

// Waits until every record written before this call is as safe as asked for. Every record is safe
// from the death of the process anyway.
//
// durability  any number but MMLOG_FLUSH_DISK counts as MMLOG_FLUSH_ARCHIVE
// timeout_ms  how long to wait at most; 0: 30 seconds
// Returns 0 or -1; the records are still in the ring then.
int mmlog_flush(
    mmlog_store *store, mmlog_durability durability, uint32_t timeout_ms, mmlog_failure *failure);

// Moves the flight records (those below the option archive_level) of the last capture_time_ms into
// an archive, beside a record "captured: REASON".
//
// timeout_ms  how long to wait at most; 0: 30 seconds
// Returns 0 or -1; the records are still in the ring then.
int mmlog_capture(
    mmlog_store *store, const char *reason, uint32_t timeout_ms, mmlog_failure *failure);

// Returns how many records were lost since the store was opened, for whatever reason, without those
// that were only cut. mmlog-decode reports losses by cause and level.
uint64_t mmlog_lost_records(mmlog_store *store);

// Closes the archive of each store of the process, and looks up its directory again: for SIGHUP
// after files were moved. Returns at once; the stores' own threads do the work. Async-signal-safe.
void mmlog_reopen_all(void);

// ---- Loggers

// Writes records under a label. A logger belongs to the process, is never freed, and must not be
// copied. Only functions and macros of this file may inspect it.
typedef struct mmlog_logger {
  uint32_t level;  // the lowest level that is recorded, less one; changes at any time
} mmlog_logger;

// Returns the logger of a label, such as "orders.matching", which names a part of the service: the
// same logger for the same label. At most 65,535 labels are distinguished. Takes a lock: keep the
// logger. Never returns NULL.
mmlog_logger *mmlog_get_logger(mmlog_store *store, const char *label);

// Sets the lowest level that a logger records; MMLOG_LEVEL_DEFAULT leaves it as it is.
// Async-signal-safe. While somebody outside has set a level (mmlogctl set-level), that level
// counts.
void mmlog_set_level(mmlog_logger *logger, mmlog_level level);

// The same for all present and later labels that a pattern matches: `*` stands for any characters,
// `?` for any one.
void mmlog_set_levels(mmlog_store *store, const char *pattern, mmlog_level level);

// Sets how often each statement of all present and later labels that a pattern matches is recorded:
// the `first` ones in an interval, and then one of `every` (0: none). A record that this leaves out
// is no loss; `mmlogctl status` shows how many there are.
//
//     // The first 100 of a statement each second, and then one of a thousand.
//     mmlog_set_rate_limit(store, "db.*", 100, 1000, 1000);
//
// interval_ms  a millisecond to 30 days; 0: there is no limit
void mmlog_set_rate_limit(mmlog_store *store, const char *pattern, uint32_t first,
    uint32_t interval_ms, uint32_t every);

// Returns whether a statement of this level may be recorded. True for all levels while somebody
// outside has turned on a single statement (mmlogctl enable). Async-signal-safe.
static inline bool mmlog_is_enabled(const mmlog_logger *logger, mmlog_level level) {
  const uint32_t number = level;
  return number < MMLOG_OFF && number > __atomic_load_n(&logger->level, __ATOMIC_ACQUIRE);
}

// ---- State slots

// A named place in the ring for a value that is overwritten: how long a queue is, which phase a job
// is in. A slot belongs to the process, is never freed, and must not be copied. Only functions of
// this file may inspect it.
//
//     mmlog_slot *depth = mmlog_get_slot(store, "queue.depth", MMLOG_SLOT_INT);
//     mmlog_slot_set_int(depth, queue_length(queue));
//
// A slot is no record, and has no history. `mmlogctl status` shows its value while the process
// runs, and `mmlog-decode crash` shows the value that it had when the process died. The value is
// public: never store a secret.
typedef struct mmlog_slot {
  uint64_t *place;
  uint64_t head;
} mmlog_slot;

typedef enum mmlog_slot_type {
  MMLOG_SLOT_INT = 1,
  MMLOG_SLOT_UINT = 2,
  MMLOG_SLOT_DOUBLE = 3,
  MMLOG_SLOT_BOOL = 5,
  MMLOG_SLOT_TEXT = 6,
} mmlog_slot_type;

// Returns the slot of a name of 1 to 48 bytes: the same slot for the same name. There are 128
// places; a text takes three. If no place is left, the name has another length, or the name has a
// slot of another type, stored values go nowhere, and MMLOG_EVENT_FAILED says so once for each
// name. Readers show 0 or false until a number is stored, and no text until one is stored. Takes a
// lock: keep the slot. Never returns NULL.
//
// A slot stays valid after mmlog_close, but then nobody sees what is stored. A child of fork(2)
// begins without values. A number that is stored at the moment at which the store replaces its ring
// may get lost: then the slot has the number before it, until the next one is stored.
mmlog_slot *mmlog_get_slot(mmlog_store *store, const char *name, mmlog_slot_type type);

static inline void mmlog_slot_set_word(const mmlog_slot *slot, uint64_t word) {
  uint64_t *place = __atomic_load_n(&slot->place, __ATOMIC_ACQUIRE);
  __atomic_store_n(place, word, __ATOMIC_RELAXED);
  __atomic_store_n(place - 1, slot->head, __ATOMIC_RELEASE);
}

// These overwrite the value, by one store. The slot must have that type. Async-signal-safe.
static inline void mmlog_slot_set_int(const mmlog_slot *slot, int64_t value) {
  uint64_t word;
  __builtin_memcpy(&word, &value, sizeof word);
  mmlog_slot_set_word(slot, word);
}

static inline void mmlog_slot_set_uint(const mmlog_slot *slot, uint64_t value) {
  mmlog_slot_set_word(slot, value);
}

static inline void mmlog_slot_set_double(const mmlog_slot *slot, double value) {
  uint64_t word;
  __builtin_memcpy(&word, &value, sizeof word);
  mmlog_slot_set_word(slot, word);
}

static inline void mmlog_slot_set_bool(const mmlog_slot *slot, bool value) {
  mmlog_slot_set_word(slot, value);
}

// Overwrites a text. At most 56 bytes are kept, cut at the edge of a character. Whenever the
// process dies, the slot has the whole text, or the whole text before it. Waits some milliseconds
// at most for another thread that is storing into the slot; after that, stores nothing. In a slot
// of another type, stores nothing either.
void mmlog_slot_set_text(mmlog_slot *slot, const char *text);

// ---- Log statements

// Records a message.
//
//     mmlog_log(log, level, "order %d accepted", id);
//     mmlog_error(log, "cannot open %s: %m", path);
//
// The format is a literal of printf(3), which the compiler checks. Numbers and strings are stored
// as such, so that JSON and filters have them as such. They are shown as printf does, with these
// differences:
//
// - zeros that fill up a negative decimal number leave no room for its sign (%05d)
// - %#x shows 0 as 0x0, %#b as 0b0, and %p shows NULL as 0x0
// - NaN has no sign: nan for -nan, also with %+f
// - widths count characters, 65536 at most
// - a NULL for %s is "(null)", of which %.3s shows three bytes; %p shows no sign
// - if a %ls cannot be converted, or if the calling thread would format a message with a width or a
//   precision above 65536, the format is recorded; likewise a format with both '*' and positions
//   (%1$*2$d)
// - numbers, and the texts of errors (%m), are not those of the locale, unless the calling thread
//   formats the message (see below)
//
// With up to 16 arguments of the conversions d i u x X o b f F e E g G c s p m, a statement
// allocates, formats and locks nothing, and makes no system call. If a format has something that
// readers could not show the same way (%a, %Lf, %ls, %n, '*' as a width or a number's precision,
// zeros before floating-point numbers, the flags space and ', %#o, %#X, %#m, %.3m), the calling
// thread formats the message, which is recorded as text. A format of more than 23 parts, literals
// and arguments, allocates for its first record.
//
// Arguments are stored as they are; nothing is private. See mmlog_field_private for values that
// must not be stored.
//
// Async-signal-safe on a thread that has logged before, if nothing has to be formatted and there
// are at most 11 arguments and 23 parts. If the ring may be full, or these conditions may not hold,
// use mmlog_signal_write. Leaves errno as it was; %m shows it.
#define mmlog_log(logger, level, ...)                                                              \
  MMLOG_STATEMENT(logger, level, mmlog_record(MMLOG_HERE, "" __VA_ARGS__))

#define mmlog_trace(logger, ...) mmlog_log(logger, MMLOG_TRACE, __VA_ARGS__)
#define mmlog_debug(logger, ...) mmlog_log(logger, MMLOG_DEBUG, __VA_ARGS__)
#define mmlog_info(logger, ...) mmlog_log(logger, MMLOG_INFO, __VA_ARGS__)
#define mmlog_notice(logger, ...) mmlog_log(logger, MMLOG_NOTICE, __VA_ARGS__)
#define mmlog_warning(logger, ...) mmlog_log(logger, MMLOG_WARNING, __VA_ARGS__)
#define mmlog_error(logger, ...) mmlog_log(logger, MMLOG_ERROR, __VA_ARGS__)
#define mmlog_critical(logger, ...) mmlog_log(logger, MMLOG_CRITICAL, __VA_ARGS__)

// ---- Named fields

typedef enum mmlog_field_kind {
  MMLOG_FIELD_INT = 1,
  MMLOG_FIELD_UINT = 2,
  MMLOG_FIELD_DOUBLE = 3,
  MMLOG_FIELD_BOOL = 4,
  MMLOG_FIELD_TEXT = 5,
  MMLOG_FIELD_PRIVATE = 6,
  MMLOG_FIELD_HASH = 7,
} mmlog_field_kind;

// A value by name. The functions below make fields.
struct mmlog_field {
  const char *name;
  mmlog_field_kind kind;
  size_t length;  // of text
  union {
    int64_t integer;
    uint64_t unsigned_integer;
    double number;
    const char *text;
  } value;
};

// Records a message with named fields.
//
//     mmlog_field fields[] = {mmlog_field_text("user", user), mmlog_field_int("attempt", 3)};
//     mmlog_log_fields(log, MMLOG_NOTICE, fields, 2, "login failed after %.1f s", seconds);
//
// All else is as for mmlog_log. Fields are async-signal-safe, except for mmlog_field_hash.
#define mmlog_log_fields(logger, level, fields, count, ...) \
  MMLOG_STATEMENT(logger, level, mmlog_record_fields(MMLOG_HERE, fields, count, "" __VA_ARGS__))

// ---- Spans

// An operation that takes time, from mmlog_begin to mmlog_end. A span is a value and may be copied.
// Any thread may end it, once. Only functions and macros of this file may inspect its members.
typedef struct mmlog_span {
  mmlog_logger *logger;
  const void *session;
  uint64_t number;  // 0: the span is not recorded
  uint64_t ticks;
  uint32_t level;
  uint32_t site;
} mmlog_span;

// Begins a span with a record.
//
//     mmlog_span request;
//     mmlog_begin(&request, log, MMLOG_INFO, NULL, "request %d", id);
//     ...
//     mmlog_end(&request, "status %d", status);
//
// span    is set, even if the logger does not record the level; then the end is not recorded
// parent  the span that this one is a part of; NULL: none. It may be the old value of `span`.
//
// The rest is as for mmlog_log. After a crash, mmlog-decode shows which spans had not ended.
#define mmlog_begin(span, logger, level, parent, ...)                                              \
  do {                                                                                             \
    mmlog_span *mmlog_span_ = (span);                                                              \
    bool mmlog_is_begun_ = false;                                                                  \
    MMLOG_STATEMENT(logger, level,                                                                 \
        (mmlog_record_begin(MMLOG_HERE, mmlog_span_, parent, "" __VA_ARGS__),                      \
            mmlog_is_begun_ = true));                                                              \
    if (!mmlog_is_begun_) mmlog_span_->number = 0;                                                 \
  } while (0)

// Records a message that belongs to a span: readers show the span with it, and `captures_spans`
// captures it with the span.
//
//     mmlog_log_in(&request, log, MMLOG_INFO, "order %d accepted", id);
//
// span  NULL, or a span that is not recorded: as if the statement named no span
//
// The rest is as for mmlog_log, and for mmlog_log_fields. Records of statements that name no span
// belong to none, unless a task of Swift calls C: then they belong to the task's span, and have the
// task's fields.
#define mmlog_log_in(span, logger, level, ...)                                                     \
  MMLOG_STATEMENT(logger, level, mmlog_record_in(MMLOG_HERE, span, NULL, 0, "" __VA_ARGS__))
#define mmlog_log_fields_in(span, logger, level, fields, count, ...)                               \
  MMLOG_STATEMENT(logger, level, mmlog_record_in(MMLOG_HERE, span, fields, count, "" __VA_ARGS__))

// Ends a span with a record that says how long the span took. mmlog_fail: the span has failed.
//
// The records of a span's beginning and end have no named fields: mmlog_log_fields_in records
// fields between the two. The end captures the span's records if `captures_spans` and its limits
// say so. To capture them in any case, call mmlog_capture before the end.
#define mmlog_end(span, ...) MMLOG_END(span, false, __VA_ARGS__)
#define mmlog_fail(span, ...) MMLOG_END(span, true, __VA_ARGS__)

// ---- Signal handlers

// Records a message in one of the program's own signal handlers.
//
//     static volatile sig_atomic_t is_stopping;
//
//     static void handle(int signal) {
//       mmlog_signal_write(log, MMLOG_NOTICE, "stopping because of signal %d", signal);
//       is_stopping = 1;  // main stops, and closes the store
//     }
//
// A handler that ends the process by _exit(2) leaves the session without an end: the session looks
// as if the process was killed, and counts as a crash.
//
// The store needs the option serves_signal_handlers. Formats and arguments are as for mmlog_log,
// with at most 11 arguments. All texts together may have 1024 bytes; the rest is cut. A format that
// the calling thread would have to format, or that has more than 23 parts, is recorded as it
// stands, without its arguments. The value of the expression is true if there is a record, which
// then survives the process.
//
// Async-signal-safe, whatever the signal interrupted: it touches nothing of the thread, even if the
// thread is in the middle of a log statement, or has never logged. It takes no lock, allocates
// nothing, waits for nobody, and leaves errno as it was. It has room even if the ring is full: half
// a segment at least, 64 KiB by default. A record takes some 200 bytes and its text. Records stand
// in the order of their time. Four handlers can write at the same moment. A handler that finds all
// four places taken tries again for some microseconds. A record that cannot be written is counted
// as lost: if too many handlers write at once, if there is no room, in a fork's child that has not
// logged yet, and after mmlog_close. Needs some 8 KiB of stack.
//
// The arguments are evaluated also below the logger's level.
#define mmlog_signal_write(logger, level, ...) \
  mmlog_signal_record(logger, level, MMLOG_FILE, __LINE__, __func__, "" __VA_ARGS__)

// ---- For wrappers

// How records name the source file. To change that, define it before including this file.
#ifndef MMLOG_FILE
#define MMLOG_FILE __FILE__
#endif

#define MMLOG_ARGUMENTS 16

// What is known of a log statement. A site is static, and begins as MMLOG_SITE. The statement's
// first record, on any thread, fills in the rest. A file or a function that is NULL counts as "".
typedef struct mmlog_site {
  const char *file;
  const char *function;
  uint32_t line;
  uint32_t state;
  uint16_t plan[MMLOG_ARGUMENTS];
} mmlog_site;

#define MMLOG_SITE {MMLOG_FILE, __func__, __LINE__, 0, {0}}

// Makes the `call` if the level is recorded. In `call`, MMLOG_HERE stands for the first arguments.
#define MMLOG_STATEMENT(logger, level, call) \
  do { \
    mmlog_logger *mmlog_logger_ = (logger); \
    const mmlog_level mmlog_level_ = (level); \
    if (__builtin_expect(mmlog_is_enabled(mmlog_logger_, mmlog_level_), 0)) { \
      static mmlog_site mmlog_site_ = MMLOG_SITE; \
      call; \
    } \
  } while (0)
#define MMLOG_HERE mmlog_logger_, mmlog_level_, &mmlog_site_

#define MMLOG_END(span, has_failed, ...) \
  do { \
    const mmlog_span *mmlog_span_ = (span); \
    if (mmlog_span_->number != 0) { \
      static mmlog_site mmlog_site_ = MMLOG_SITE; \
      mmlog_record_end(mmlog_span_, has_failed, &mmlog_site_, "" __VA_ARGS__); \
    } \
  } while (0)

// The macros call these. They record whatever the logger's level is, except mmlog_signal_record,
// which checks the level. Each site has one format, always the same, which lasts as long as the
// process.
void mmlog_record(mmlog_logger *logger, mmlog_level level, mmlog_site *site, const char *format,
    ...) __attribute__((format(printf, 4, 5), nonnull(1, 3, 4)));
void mmlog_vrecord(mmlog_logger *logger, mmlog_level level, mmlog_site *site,
    const mmlog_field *fields, size_t field_count, const char *format, va_list arguments)
    __attribute__((format(printf, 6, 0), nonnull(1, 3, 6)));
void mmlog_record_fields(mmlog_logger *logger, mmlog_level level, mmlog_site *site,
    const mmlog_field *fields, size_t field_count, const char *format, ...)
    __attribute__((format(printf, 6, 7), nonnull(1, 3, 6)));
void mmlog_record_in(mmlog_logger *logger, mmlog_level level, mmlog_site *site,
    const mmlog_span *span, const mmlog_field *fields, size_t field_count, const char *format, ...)
    __attribute__((format(printf, 7, 8), nonnull(1, 3, 7)));
void mmlog_vrecord_in(mmlog_logger *logger, mmlog_level level, mmlog_site *site,
    const mmlog_span *span, const mmlog_field *fields, size_t field_count, const char *format,
    va_list arguments) __attribute__((format(printf, 7, 0), nonnull(1, 3, 7)));
void mmlog_record_begin(mmlog_logger *logger, mmlog_level level, mmlog_site *site,
    mmlog_span *span, const mmlog_span *parent, const char *format, ...)
    __attribute__((format(printf, 6, 7), nonnull(1, 3, 4, 6)));
void mmlog_record_end(
    const mmlog_span *span, bool has_failed, mmlog_site *site, const char *format, ...)
    __attribute__((format(printf, 4, 5), nonnull(1, 3, 4)));
bool mmlog_signal_record(mmlog_logger *logger, mmlog_level level, const char *file, uint32_t line,
                         const char *function, const char *format, ...)
    __attribute__((format(printf, 6, 7), nonnull(1, 3, 5, 6)));

// Records a message whose place and format are known at run time only, if its level is recorded.
// For functions with formats of their own. The texts may change afterwards. Statements are
// distinguished by the bytes of these texts, which takes some ten nanoseconds more.
void mmlog_vlog(mmlog_logger *logger, mmlog_level level, const char *file, uint32_t line,
    const char *function, const char *format, va_list arguments)
    __attribute__((format(printf, 6, 0), nonnull(1, 3, 5, 6)));

// ---- Making fields. The name and the text have to last until the statement is done. A name that
// is NULL becomes "(null)". Async-signal-safe.

static inline mmlog_field mmlog_field_int(const char *name, int64_t value) {
  mmlog_field field = {name, MMLOG_FIELD_INT, 0, {value}};
  return field;
}

static inline mmlog_field mmlog_field_uint(const char *name, uint64_t value) {
  mmlog_field field = {name, MMLOG_FIELD_UINT, 0, {0}};
  field.value.unsigned_integer = value;
  return field;
}

static inline mmlog_field mmlog_field_double(const char *name, double value) {
  mmlog_field field = {name, MMLOG_FIELD_DOUBLE, 0, {0}};
  field.value.number = value;
  return field;
}

static inline mmlog_field mmlog_field_bool(const char *name, bool value) {
  mmlog_field field = {name, MMLOG_FIELD_BOOL, 0, {value}};
  return field;
}

// `length` bytes; they need no zero byte behind them.
static inline mmlog_field mmlog_field_bytes(const char *name, const char *text, size_t length) {
  mmlog_field field = {name, MMLOG_FIELD_TEXT, length, {0}};
  field.value.text = text;
  return field;
}

// Text that ends with a zero byte; NULL is "(null)".
static inline mmlog_field mmlog_field_text(const char *name, const char *text) {
  const char *shown = text != NULL ? text : "(null)";
  return mmlog_field_bytes(name, shown, __builtin_strlen(shown));
}

// A value of which nothing is written; readers show <private>.
static inline mmlog_field mmlog_field_private(const char *name) {
  mmlog_field field = {name, MMLOG_FIELD_PRIVATE, 0, {0}};
  return field;
}

// Text of which only a hash is written, keyed with a secret of the process. Equal texts of a
// session can be recognized, but nobody can guess a text. Allocates.
static inline mmlog_field mmlog_field_hash(const char *name, const char *text) {
  mmlog_field field = mmlog_field_text(name, text);
  field.kind = MMLOG_FIELD_HASH;
  return field;
}

#ifdef __cplusplus
}
#endif

#endif
