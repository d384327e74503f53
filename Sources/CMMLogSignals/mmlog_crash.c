#include "CMMLogSignals.h"

#include "CMMLogCore.h"
#include "mmlog_signals.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

// SIGBUS is left to the containment of faults, which calls mmlog_handle_crash for faults that it
// does not contain.
static const int fatal_signals[] = {SIGSEGV, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
static struct sigaction previous[NSIG];
// Set once; read by threads and handlers.
static bool is_started;

static bool has_started(void) { return __atomic_load_n(&is_started, __ATOMIC_ACQUIRE); }

enum { maximum_places = 8, maximum_modules = 256 };
static mmlog_crash_report *places[maximum_places];
// The process whose rings they are in. A child that was not made by fork(3) may have the same
// memory, as a child of vfork(2) does, but its crash is not a crash of this process.
static pid_t owners[maximum_places];
// The streams that encrypt the reports of each place, and how many parts of each are used.
static const uint8_t *streams[maximum_places];
static unsigned used_parts[maximum_places];

typedef struct {
  uintptr_t code;  // where the module's code begins
  mmlog_crash_module module;
} loaded_module;

// Two tables, used in turn: a handler may be inspecting one while the other is made.
typedef struct {
  unsigned count;
  loaded_module modules[maximum_modules];
} module_table;
static module_table tables[2];
static module_table *loaded;

// MARK: - Modules

typedef struct {
  module_table *table;
  unsigned long long changes;
  bool is_known;
} module_search;

static unsigned long long known_changes;

static void copy_path(mmlog_crash_module *module, const char *name) {
  char own[4096];
  if (name[0] == 0) {
    ssize_t size = readlink("/proc/self/exe", own, sizeof own - 1);
    own[size > 0 ? size : 0] = 0;
    name = own;
  }
  size_t size = strlen(name);
  size_t over = size > MMLOG_MODULE_PATH ? size - MMLOG_MODULE_PATH : 0;
  memcpy(module->path, name + over, size - over);
}

static void copy_build_id(mmlog_crash_module *module, const uint8_t *notes, size_t size) {
  size_t at = 0;
  while (size - at >= sizeof(ElfW(Nhdr))) {
    const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)(notes + at);
    size_t name = at + sizeof *note;
    size_t description = name + ((note->n_namesz + 3u) & ~3u);
    size_t end = description + ((note->n_descsz + 3u) & ~3u);
    if (end > size) return;
    if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
        memcmp(notes + name, "GNU", 4) == 0) {
      module->build_id_size = note->n_descsz < MMLOG_BUILD_ID ? note->n_descsz : MMLOG_BUILD_ID;
      memcpy(module->build_id, notes + description, module->build_id_size);
      return;
    }
    at = end;
  }
}

static int add_module(struct dl_phdr_info *info, size_t size, void *search_pointer) {
  (void)size;
  module_search *search = search_pointer;
  search->changes = info->dlpi_adds + info->dlpi_subs;
  search->is_known = search->changes == known_changes;
  if (search->is_known || search->table->count == maximum_modules) return 1;
  loaded_module *entry = &search->table->modules[search->table->count];
  memset(entry, 0, sizeof *entry);
  entry->code = UINTPTR_MAX;
  entry->module.base = info->dlpi_addr;
  for (unsigned index = 0; index < info->dlpi_phnum; index++) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[index];
    uintptr_t start = info->dlpi_addr + header->p_vaddr;
    if (header->p_type == PT_NOTE && entry->module.build_id_size == 0)
      copy_build_id(&entry->module, (const uint8_t *)start, header->p_memsz);
    if (header->p_type != PT_LOAD || (header->p_flags & PF_X) == 0) continue;
    if (start < entry->code) entry->code = start;
    if (start + header->p_memsz > entry->module.end) entry->module.end = start + header->p_memsz;
  }
  if (entry->module.end == 0) return 0;
  copy_path(&entry->module, info->dlpi_name);
  search->table->count++;
  return 0;
}

// Held by a thread that makes a table, or that walks a stack outside a handler.
static uint32_t is_busy;

static bool begin_reading(void) { return __atomic_exchange_n(&is_busy, 1, __ATOMIC_ACQUIRE) == 0; }

static void end_reading(void) { __atomic_store_n(&is_busy, 0, __ATOMIC_RELEASE); }

// Waits for a limited time: a handler may have interrupted the thread that holds it.
static bool wait_to_read(void) {
  const struct timespec moment = {.tv_nsec = 100000};
  for (unsigned round = 0; round < 1000; round++) {
    if (begin_reading()) return true;
    nanosleep(&moment, NULL);
  }
  return false;
}

static void read_modules(void) {
  module_search search = {.table = loaded == &tables[0] ? &tables[1] : &tables[0]};
  search.table->count = 0;
  dl_iterate_phdr(add_module, &search);
  if (!search.is_known) {
    known_changes = search.changes;
    __atomic_store_n(&loaded, search.table, __ATOMIC_RELEASE);
  }
}

void mmlog_crash_read_modules(void) {
  if (!has_started() || !begin_reading()) return;
  read_modules();
  end_reading();
}

static const loaded_module *module_of(uintptr_t address) {
  const module_table *table = __atomic_load_n(&loaded, __ATOMIC_ACQUIRE);
  for (unsigned index = 0; table != NULL && index < table->count; index++) {
    const loaded_module *entry = &table->modules[index];
    if (address >= entry->code && address < entry->module.end) return entry;
  }
  return NULL;
}

static bool is_noted(const mmlog_crash_report *report, const mmlog_crash_module *module) {
  for (unsigned index = 0; index < report->module_count; index++)
    if (report->modules[index].base == module->base && report->modules[index].end == module->end)
      return true;
  return false;
}

static void note_modules(mmlog_crash_report *report) {
  for (unsigned index = 0; index < report->frame_count; index++) {
    // A return address may be the first address behind the code.
    const loaded_module *entry = module_of(report->frames[index] - (index > 0));
    if (entry == NULL || is_noted(report, &entry->module)) continue;
    if (report->module_count == MMLOG_CRASH_MODULES) return;
    report->modules[report->module_count++] = entry->module;
  }
}

// MARK: - The stack

// The kernel reads memory that may not be there, and fails if it is not.
static bool read_memory(uintptr_t address, void *bytes, size_t size) {
  struct iovec to = {bytes, size}, from = {(void *)address, size};
  return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)size;
}

// The first two words of a function's frame, if the compiler keeps frame pointers: the caller's
// frame, and the return address.
typedef struct {
  uintptr_t caller;
  uintptr_t address;
} stack_frame;

enum { largest_frame = 8 << 20, scanned_words = 4096, scanned_at_once = 64 };

// Removes the signature that code for AArch64 may put into a return address.
static uintptr_t unsigned_address(uintptr_t address) {
#if defined(__aarch64__)
  register uintptr_t link __asm__("x30") = address;
  // xpaclri, which does nothing on a processor without signatures.
  __asm__("hint #7" : "+r"(link));
  return link;
#else
  return address;
#endif
}

static bool read_frame(uintptr_t at, stack_frame *frame) {
  if (at % sizeof(uintptr_t) != 0 || !read_memory(at, frame, sizeof *frame)) return false;
  frame->address = unsigned_address(frame->address);
  return true;
}

static bool is_frame(uintptr_t at, stack_frame *frame) {
  return read_frame(at, frame) && module_of(frame->address - 1) != NULL;
}

// Whether the instruction before the address is a call.
static bool follows_call(uintptr_t address) {
#if defined(__x86_64__)
  uint8_t code[7];
  if (!read_memory(address - sizeof code, code, sizeof code)) return false;
  // E8 with a distance, or FF /2 with two to seven bytes.
  if (code[2] == 0xE8) return true;
  for (unsigned size = 2; size <= sizeof code; size++)
    if (code[sizeof code - size] == 0xFF && (code[sizeof code - size + 1] & 0x38) == 0x10)
      return true;
  return false;
#else
  uint32_t instruction;
  if (!read_memory(address - 4, &instruction, sizeof instruction)) return false;
  // BL, or BLR and its forms that check a signature.
  return (instruction & 0xFC000000) == 0x94000000 || (instruction & 0xFEFFF000) == 0xD63F0000;
#endif
}

// Walks the stack by frame pointers. Also passes a few functions in a row that are in no known
// module, if they lead back to one that is: their code may belong to a library that was just
// loaded, or the program may have made it.
static void walk(mmlog_crash_report *report, uintptr_t at) {
  enum { maximum_unknown = 4 };
  unsigned known = report->frame_count, unknown = 0;
  for (stack_frame frame;; at = frame.caller) {
    bool is_known = is_frame(at, &frame);
    if (!is_known &&
        (unknown == maximum_unknown || !read_frame(at, &frame) || !follows_call(frame.address)))
      break;
    if (report->frame_count == MMLOG_CRASH_FRAMES) {
      report->flags |= MMLOG_CRASH_MORE_FRAMES;
      break;
    }
    report->frames[report->frame_count++] = frame.address;
    unknown = is_known ? 0 : unknown + 1;
    if (is_known) {
      if (report->frame_count > known + 1) report->flags |= MMLOG_CRASH_GUESSED;
      known = report->frame_count;
    }
    // The stack grows down.
    if (frame.caller <= at || frame.caller - at > largest_frame) break;
  }
  report->frame_count = known;
}

// Code without frame pointers, as in the C library, may leave anything in the register. So this
// searches for a frame whose caller's frame is a frame, too.
static uintptr_t find_frame(uintptr_t stack) {
  uintptr_t words[scanned_at_once + 1];
  for (unsigned done = 0; done < scanned_words; done += scanned_at_once) {
    uintptr_t start = stack + done * sizeof(uintptr_t);
    if (!read_memory(start, words, sizeof words)) return 0;
    for (unsigned index = 0; index < scanned_at_once; index++) {
      uintptr_t at = start + index * sizeof(uintptr_t);
      stack_frame caller;
      if (words[index] <= at || words[index] - at > largest_frame ||
          module_of(unsigned_address(words[index + 1]) - 1) == NULL)
        continue;
      if (is_frame(words[index], &caller)) return at;
    }
  }
  return 0;
}

// If code without frame pointers was called from another module, the register still has the
// caller's frame, but no frame has the return address into the caller: that is the last return
// address below the frame.
static uintptr_t find_caller(uintptr_t stack, uintptr_t frame, const loaded_module *module) {
  enum { maximum_words = 512 };
  for (uintptr_t at = frame - sizeof(uintptr_t);
      at >= stack && frame - at < maximum_words * sizeof(uintptr_t); at -= sizeof(uintptr_t)) {
    uintptr_t word;
    if (!read_memory(at, &word, sizeof word)) return 0;
    word = unsigned_address(word);
    if (module_of(word) == module && follows_call(word)) return word;
  }
  return 0;
}

// The return address of a function that has made no call, and so no frame: AArch64 then has it in a
// register. 0: the function has a frame, or nothing is certain. If the address is in the function's
// own module, a call that the function itself has made may have left it.
static uintptr_t caller_in_register(uintptr_t pc, uintptr_t frame, uintptr_t link) {
  stack_frame first;
  const loaded_module *module = link == 0 ? NULL : module_of(link - 1);
  if (module == NULL || module == module_of(pc) || !follows_call(link)) return 0;
  // 0 if the function has just made its frame.
  return is_frame(frame, &first) && first.address == link ? 0 : link;
}

// link: the register that a call leaves its return address in; 0 if there is none.
static void note_frames(mmlog_crash_report *report, uintptr_t pc, uintptr_t frame, uintptr_t stack,
                        uintptr_t link) {
  report->frames[report->frame_count++] = pc;
  stack_frame first;
  uintptr_t direct = caller_in_register(pc, frame, link);
  if (direct != 0) {
    report->frames[report->frame_count++] = direct;
    if (module_of(pc) != NULL) report->flags |= MMLOG_CRASH_GUESSED;
  } else if (is_frame(frame, &first) && module_of(first.address) != module_of(pc)) {
    uintptr_t caller = find_caller(stack, frame, module_of(first.address));
    if (caller != 0) {
      report->frames[report->frame_count++] = caller;
      report->flags |= MMLOG_CRASH_GUESSED;
    }
  }
  walk(report, frame);
  // A real process has more than two functions on its stack.
  if (report->frame_count > 2) return;
  uintptr_t found = find_frame(stack);
  if (found == 0) return;
  report->frame_count = 1;
  report->flags |= MMLOG_CRASH_GUESSED;
  walk(report, found);
}

#if defined(__x86_64__)
static const int register_order[] = {
    REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
    REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP, REG_EFL,
};

static void note_registers(mmlog_crash_report *report, const ucontext_t *context) {
  report->machine = EM_X86_64;
  report->register_count = sizeof register_order / sizeof register_order[0];
  for (unsigned index = 0; index < report->register_count; index++)
    report->registers[index] = (uint64_t)context->uc_mcontext.gregs[register_order[index]];
}

static uintptr_t interrupted_stack(const ucontext_t *context) {
  return (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
}

static void note_backtrace(mmlog_crash_report *report, const ucontext_t *context) {
  const greg_t *registers = context->uc_mcontext.gregs;
  note_frames(report, (uintptr_t)registers[REG_RIP], (uintptr_t)registers[REG_RBP],
      (uintptr_t)registers[REG_RSP], 0);
}
#elif defined(__aarch64__)
static void note_registers(mmlog_crash_report *report, const ucontext_t *context) {
  report->machine = EM_AARCH64;
  report->register_count = MMLOG_CRASH_REGISTERS;
  memcpy(report->registers, context->uc_mcontext.regs, 31 * sizeof(uint64_t));
  report->registers[31] = context->uc_mcontext.sp;
  report->registers[32] = context->uc_mcontext.pc;
  report->registers[33] = context->uc_mcontext.pstate;
}

static uintptr_t interrupted_stack(const ucontext_t *context) { return context->uc_mcontext.sp; }

static void note_backtrace(mmlog_crash_report *report, const ucontext_t *context) {
  note_frames(report, context->uc_mcontext.pc, context->uc_mcontext.regs[29],
      context->uc_mcontext.sp, unsigned_address(context->uc_mcontext.regs[30]));
}
#else
#error "mmlog runs on x86-64 and AArch64"
#endif

// MARK: - What runtimes say

// Where Swift's runtime keeps the messages that it writes before it ends the process, one behind
// the other. An older runtime does not have this function.
extern const char *_Nullable *_Nonnull swift_getFatalErrorMessageBuffer(void)
    __attribute__((weak));

// Where glibc keeps its message before it aborts, as by assert(3): the message's size, and the
// text.
static const char *const *libc_message;
// The type of the C++ exception that the calling thread is handling.
static const void *(*exception_type)(void);

// The messages that were there at an earlier signal, which the process survived.
static struct {
  size_t swift_size;
  const char *libc;
} known_messages;

static void find_messages(void) {
  libc_message = dlsym(RTLD_DEFAULT, "__abort_msg");
  exception_type = (const void *(*)(void))dlsym(RTLD_DEFAULT, "__cxa_current_exception_type");
}

// Copies a text whose memory may not be there, and returns the text's length.
static size_t copy_text(char *to, size_t room, uintptr_t from) {
  enum { page = 4096 };
  size_t size = 0;
  while (size < room) {
    size_t part = page - (from + size) % page;
    if (part > room - size) part = room - size;
    if (!read_memory(from + size, to + size, part)) break;
    size_t end = strnlen(to + size, part);
    size += end;
    if (end < part) break;
  }
  memset(to + size, 0, room - size);
  return size;
}

static size_t size_of_text(uintptr_t from) {
  enum { maximum = 64 << 10 };
  char part[256];
  size_t size = 0, more;
  do {
    more = copy_text(part, sizeof part, from + size);
    size += more;
  } while (more == sizeof part && size < maximum);
  return size;
}

static bool note_swift_message(mmlog_crash_report *report) {
  if (swift_getFatalErrorMessageBuffer == NULL) return false;
  const char *text = __atomic_load_n(swift_getFatalErrorMessageBuffer(), __ATOMIC_ACQUIRE);
  if (text == NULL) return false;
  size_t known = known_messages.swift_size, size = size_of_text((uintptr_t)text);
  if (size <= known) return false;
  known_messages.swift_size = size;
  return copy_text(report->message, sizeof report->message, (uintptr_t)text + known) > 0;
}

static bool note_libc_message(mmlog_crash_report *report) {
  if (libc_message == NULL) return false;
  const char *text = __atomic_load_n(libc_message, __ATOMIC_ACQUIRE);
  if (text == NULL || text == known_messages.libc) return false;
  known_messages.libc = text;
  uintptr_t start = (uintptr_t)text + sizeof(unsigned);
  return copy_text(report->message, sizeof report->message, start) > 0;
}

// Whether the process raised the signal itself: signals from others have nothing to do with a
// runtime's message.
static bool is_own(const mmlog_crash_report *report) {
  return report->code > 0 || report->sender == (uint32_t)getpid();
}

static bool note_message(mmlog_crash_report *report) {
  if (!is_own(report)) return false;
  switch (report->signal) {
    case SIGABRT: return note_libc_message(report) || note_swift_message(report);
    case SIGILL:
    case SIGTRAP: return note_swift_message(report);
    default: return false;
  }
}

// Asks the C++ library. Called after the report is published, in case this crashes.
static void note_exception(mmlog_crash_report *report) {
  if (exception_type == NULL || report->signal != SIGABRT || !is_own(report)) return;
  // A pointer to a virtual table, and the name.
  const char *words[2];
  const void *type = exception_type();
  if (type == NULL || !read_memory((uintptr_t)type, words, sizeof words)) return;
  if (copy_text(report->message, sizeof report->message, (uintptr_t)words[1]) > 0)
    report->flags |= MMLOG_CRASH_EXCEPTION;
}

// MARK: - The report

static uint32_t check_of(const mmlog_crash_report *report) {
  size_t start = offsetof(mmlog_crash_report, signal);
  return ~mmlog_crc32c_bytes(UINT32_MAX, (const uint8_t *)report + start, sizeof *report - start);
}

static uint32_t load_state(const mmlog_crash_report *place) {
  return __atomic_load_n(&place->state, __ATOMIC_ACQUIRE);
}

// Changes the state of a place from one to another, and adds to the count of survivals. False if
// the place is not in the state `from`.
static bool change_state(mmlog_crash_report *place, uint32_t from, uint32_t to, uint32_t more) {
  uint32_t old = load_state(place);
  do {
    if ((old & MMLOG_CRASH_STATE) != from) return false;
  } while (!__atomic_compare_exchange_n(&place->state, &old, old - from + to + more, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
  return true;
}

// Changes the state from any other. The drainer may change the count of survivals meanwhile.
static void set_state(mmlog_crash_report *place, uint32_t state) {
  while (!change_state(place, load_state(place) & MMLOG_CRASH_STATE, state, 0)) continue;
}

// Stands for a place that is being added: its stream is not there yet.
static mmlog_crash_report adding;

static mmlog_crash_report *place_at(unsigned index) {
  mmlog_crash_report *place = __atomic_load_n(&places[index], __ATOMIC_ACQUIRE);
  if (place == NULL || place == &adding) return NULL;
  return __atomic_load_n(&owners[index], __ATOMIC_RELAXED) == getpid() ? place : NULL;
}

static bool has_place(void) {
  for (unsigned index = 0; index < maximum_places; index++)
    if (place_at(index) != NULL) return true;
  return false;
}

// How many threads are writing to places.
static uint32_t writers;

static void begin_writing(void) { __atomic_fetch_add(&writers, 1, __ATOMIC_SEQ_CST); }

static void end_writing(void) { __atomic_fetch_sub(&writers, 1, __ATOMIC_RELEASE); }

// Waits until no thread writes to a place that was there before. False if a thread still does after
// a second: it may have crashed in the middle.
static bool wait_for_writers(void) {
  const struct timespec moment = {.tv_nsec = 1000000};
  for (unsigned round = 0; __atomic_load_n(&writers, __ATOMIC_SEQ_CST) != 0; round++) {
    if (round == 1000) return false;
    nanosleep(&moment, NULL);
  }
  return true;
}

// Encrypts what follows the flags. If no unused part of the stream is left, removes what follows
// the flags.
static void encrypt(mmlog_crash_report *report, unsigned index) {
  enum { start = offsetof(mmlog_crash_report, registers) };
  uint8_t *bytes = (uint8_t *)report;
  unsigned part = used_parts[index];
  if (part == MMLOG_CRASH_PARTS) {
    memset(bytes + start, 0, sizeof *report - start);
    report->register_count = report->module_count = 0;
    report->frame_count = report->flags = 0;
    return;
  }
  used_parts[index] = part + 1;
  report->flags |= (uint16_t)((part + 1) << MMLOG_CRASH_PART_SHIFT);
  const uint8_t *stream = streams[index] + part * sizeof *report;
  for (size_t offset = start; offset < sizeof *report; offset++) bytes[offset] ^= stream[offset];
}

static void publish(const mmlog_crash_report *report) {
  static mmlog_crash_report stored;
  for (unsigned index = 0; index < maximum_places; index++) {
    mmlog_crash_report *place = place_at(index);
    if (place == NULL) continue;
    stored = *report;
    if (streams[index] != NULL) encrypt(&stored, index);
    stored.checksum = check_of(&stored);
    set_state(place, MMLOG_CRASH_UNFINISHED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memcpy(&place->checksum, &stored.checksum,
        sizeof stored - offsetof(mmlog_crash_report, checksum));
    set_state(place, MMLOG_CRASH_COMPLETE);
  }
}

static void note_signal(mmlog_crash_report *report, int signal, const siginfo_t *info) {
  memset(report, 0, sizeof *report);
  report->signal = (uint32_t)signal;
  report->code = info->si_code;
  report->thread = (uint32_t)syscall(SYS_gettid);
  // The sender's id and the address of a fault share their place in siginfo_t.
  if (info->si_code <= 0) {
    report->sender = (uint32_t)info->si_pid;
  } else {
    report->address = (uintptr_t)info->si_addr;
  }
  prctl(PR_GET_NAME, report->thread_name);
  report->wall = mmlog_nanoseconds(CLOCK_REALTIME);
  report->ticks = mmlog_ticks();
}

// The thread whose crash is being recorded or passed on, or 0.
static uint32_t crashing;

// The part of that thread's stack on which its handler runs, and the handlers that it calls. The
// whole address space while the part is not known.
static struct {
  uintptr_t low, high;
} handler_stack = {0, UINTPTR_MAX};

static void set_handler_stack(uintptr_t low, uintptr_t high) {
  __atomic_store_n(&handler_stack.low, low, __ATOMIC_RELAXED);
  __atomic_store_n(&handler_stack.high, high, __ATOMIC_RELEASE);
}

static bool is_on_handler_stack(uintptr_t address) {
  uintptr_t high = __atomic_load_n(&handler_stack.high, __ATOMIC_ACQUIRE);
  return address <= high && address >= __atomic_load_n(&handler_stack.low, __ATOMIC_RELAXED);
}

// The handler stack goes from the handler's own frame down to the end of the stack for handlers, if
// the handler runs on that.
static void note_handler_stack(uintptr_t frame) {
  stack_t own;
  bool has_own = sigaltstack(NULL, &own) == 0 && (own.ss_flags & SS_ONSTACK) != 0;
  set_handler_stack(has_own ? (uintptr_t)own.ss_sp : 0, frame);
}

// The stack pointer of a sleeping thread: the last but one of the words that the kernel gives. 0:
// the thread does not sleep, or the kernel does not say.
static uintptr_t stack_pointer(const char *text) {
  const char *last = strrchr(text, ' ');
  if (last == NULL || last == text) return 0;
  while (last > text && last[-1] != ' ') last--;
  return strtoull(last, NULL, 16);
}

// Opens the kernel's file with the state of a thread. Async-signal-safe, unlike snprintf.
static int open_state(uint32_t thread) {
  char path[64] = "/proc/self/task/", digits[10];
  size_t end = strlen(path);
  unsigned count = 0;
  for (; thread != 0; thread /= 10) digits[count++] = (char)('0' + thread % 10);
  while (count > 0) path[end++] = digits[--count];
  strcpy(path + end, "/syscall");
  return open(path, O_RDONLY | O_CLOEXEC);
}

// Whether a thread has left its handler without returning from it: by longjmp, or by the thread's
// end. Without /proc, only the end is known.
static bool has_left(uint32_t thread) {
  if (syscall(SYS_tgkill, getpid(), thread, 0) != 0) return errno == ESRCH;
  char text[256];
  int file = open_state(thread);
  if (file < 0) return false;
  ssize_t size = read(file, text, sizeof text - 1);
  close(file);
  if (size <= 0) return false;
  text[size] = 0;
  uintptr_t stack = stack_pointer(text);
  return stack != 0 && !is_on_handler_stack(stack);
}

// The crash of another thread will end the process, too. Waits a second at most, so that its report
// is written before.
static void wait_for_other(void) {
  const struct timespec moment = {.tv_nsec = 1000000};
  for (unsigned round = 0; round < 1000 && __atomic_load_n(&crashing, __ATOMIC_ACQUIRE) != 0;
      round++)
    nanosleep(&moment, NULL);
}

static bool take(uint32_t from, uint32_t thread) {
  return __atomic_compare_exchange_n(&crashing, &from, thread, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE);
}

static bool begin(uintptr_t stack) {
  uint32_t self = (uint32_t)syscall(SYS_gettid);
  if (take(0, self)) return true;
  uint32_t other = __atomic_load_n(&crashing, __ATOMIC_ACQUIRE);
  if (other == self) return !is_on_handler_stack(stack);
  if (other != 0 && has_left(other)) {
    set_handler_stack(0, UINTPTR_MAX);
    if (take(other, self)) return true;
  }
  wait_for_other();
  // Unless the process survives that crash, it ends now, and the report of the crash stays as it
  // is.
  const struct timespec moment = {.tv_nsec = 100000000};
  nanosleep(&moment, NULL);
  return take(0, self);
}

// Notes in the reports that their handler has returned: the process may survive.
static void end(void) {
  begin_writing();
  for (unsigned index = 0; index < maximum_places; index++) {
    mmlog_crash_report *place = place_at(index);
    if (place != NULL) change_state(place, MMLOG_CRASH_COMPLETE, MMLOG_CRASH_RETURNED, 0);
  }
  end_writing();
  set_handler_stack(0, UINTPTR_MAX);
  __atomic_store_n(&crashing, 0, __ATOMIC_RELEASE);
}

static void record(int signal, const siginfo_t *info, const void *context) {
  static mmlog_crash_report report;
  begin_writing();
  note_signal(&report, signal, info);
  note_registers(&report, context);
  bool is_said = note_message(&report);
  // First publishes what is certain, because walking a damaged stack may fail.
  publish(&report);
  if (!is_said) note_exception(&report);
  note_backtrace(&report, context);
  note_modules(&report);
  publish(&report);
  end_writing();
}

// MARK: - Stacks of living threads

void mmlog_backtrace(mmlog_crash_report *report) {
  int saved = errno;
  memset(report, 0, sizeof *report);
  if (wait_to_read()) {
    read_modules();
    walk(report, (uintptr_t)__builtin_frame_address(0));
    note_modules(report);
    end_reading();
  }
  report->state = MMLOG_CRASH_COMPLETE;
  report->checksum = check_of(report);
  errno = saved;
}

// MARK: - Handlers

// Whether the signal is a fault of this thread whose instruction is repeated when the handler
// returns.
static bool is_repeated(int signal, const siginfo_t *info) {
  bool is_fault = signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE;
  return is_fault && info->si_code > 0;
}

// Whether the action is a function. If it is none, the flag SA_SIGINFO means nothing.
static bool is_function(const struct sigaction *action) {
  return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

static void pass_on(struct sigaction *to, int signal, siginfo_t *info, void *context) {
  const struct sigaction action = *to;
  if (!is_function(&action)) {
    if (action.sa_handler == SIG_IGN && !is_repeated(signal, info)) return;
    // Restores the previous action. A fault then comes again, and has its usual end. Any other
    // signal is raised once more.
    sigaction(signal, &action, NULL);
    if (!is_repeated(signal, info)) raise(signal);
    return;
  }
  // Such a handler is called once: it raises the signal again, or repeats the fault, to end the
  // process.
  if (action.sa_flags & SA_RESETHAND) to->sa_handler = SIG_DFL;
  if (action.sa_flags & SA_SIGINFO) {
    action.sa_sigaction(signal, info, context);
  } else {
    action.sa_handler(signal);
  }
}

// The signals whose previous handlers the crashing thread is in, one bit each.
static uint32_t passed_on;

// Passes a signal of the crashing thread to the previous handler. Without mmlog, the signal would
// be blocked in that handler, and a fault there would end the process. So the handler is not called
// for its own faults.
static void pass_on_crash(struct sigaction *to, int signal, siginfo_t *info, void *context) {
  struct sigaction usual_end = {.sa_handler = SIG_DFL};
  const uint32_t before = passed_on, bit = 1u << signal;
  bool is_own_fault =
      (before & bit) != 0 && is_repeated(signal, info) && (to->sa_flags & SA_NODEFER) == 0;
  passed_on = before | bit;
  pass_on(is_own_fault ? &usual_end : to, signal, info, context);
  passed_on = before;
}

static bool is_crashing(void) {
  uint32_t thread = __atomic_load_n(&crashing, __ATOMIC_ACQUIRE);
  return thread != 0 && thread == (uint32_t)syscall(SYS_gettid);
}

void mmlog_handle_crash(struct sigaction *to, int signal, siginfo_t *info, void *context) {
  bool is_first = has_started() && has_place() && begin(interrupted_stack(context));
  if (is_first) {
    passed_on = 0;
    note_handler_stack((uintptr_t)__builtin_frame_address(0));
    record(signal, info, context);
  }
  if (is_crashing()) {
    pass_on_crash(to, signal, info, context);
  } else {
    pass_on(to, signal, info, context);
  }
  if (is_first) end();
}

static void handle(int signal, siginfo_t *info, void *context) {
  int saved = errno;
  mmlog_handle_crash(&previous[signal], signal, info, context);
  errno = saved;
}

static int set_handler(int signal) {
  struct sigaction action;
  if (sigaction(signal, NULL, &previous[signal]) != 0) return -1;
  memset(&action, 0, sizeof action);
  // Blocks what the previous handler would have blocked. If this handler itself crashes, it gets
  // that signal, too, and passes it on.
  action.sa_mask = previous[signal].sa_mask;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  action.sa_sigaction = handle;
  return sigaction(signal, &action, NULL);
}

int mmlog_crash_start(void) {
  enum { count = sizeof fatal_signals / sizeof fatal_signals[0] };
  if (has_started()) return 0;
  if (mmlog_containment_start() != 0) return -1;
  find_messages();
  for (unsigned index = 0; index < count; index++) {
    if (set_handler(fatal_signals[index]) == 0) continue;
    int error = errno;
    while (index-- > 0) sigaction(fatal_signals[index], &previous[fatal_signals[index]], NULL);
    errno = error;
    return -1;
  }
  __atomic_store_n(&is_started, true, __ATOMIC_RELEASE);
  return 0;
}

// Sets a handler again if its signal's default action did not end the process.
static void restore_handlers(void) {
  for (unsigned index = 0; index < sizeof fatal_signals / sizeof fatal_signals[0]; index++) {
    struct sigaction action;
    int signal = fatal_signals[index];
    if (sigaction(signal, NULL, &action) != 0) continue;
    if (action.sa_handler == SIG_DFL && previous[signal].sa_handler == SIG_DFL) set_handler(signal);
  }
}

// Treats a handler that its thread has left like one that has returned.
static void end_if_left(void) {
  uint32_t thread = __atomic_load_n(&crashing, __ATOMIC_ACQUIRE);
  if (thread != 0 && has_left(thread) && __atomic_load_n(&crashing, __ATOMIC_ACQUIRE) == thread)
    end();
}

bool mmlog_crash_has_returned(const mmlog_crash_report *place) {
  end_if_left();
  return (load_state(place) & MMLOG_CRASH_STATE) == MMLOG_CRASH_RETURNED;
}

bool mmlog_crash_is_running(const mmlog_crash_report *place) {
  uint32_t state = load_state(place) & MMLOG_CRASH_STATE;
  return state == MMLOG_CRASH_UNFINISHED || state == MMLOG_CRASH_COMPLETE;
}

bool mmlog_crash_copy(const mmlog_crash_report *place, mmlog_crash_report *report) {
  // The report is published once before the stack is walked.
  wait_for_writers();
  memcpy(report, place, sizeof *report);
  return (report->state & MMLOG_CRASH_STATE) == MMLOG_CRASH_COMPLETE;
}

static bool has_room(uint32_t state) {
  return (state >> 8 & 0xFF) < MMLOG_CRASH_MAXIMUM_SURVIVALS;
}

bool mmlog_crash_take(mmlog_crash_report *place, mmlog_crash_report *report) {
  uint32_t state = load_state(place);
  if ((state & MMLOG_CRASH_STATE) != MMLOG_CRASH_RETURNED) return false;
  if (!has_room(state)) return false;
  memcpy(report, place, sizeof *report);
  report->state = MMLOG_CRASH_RETURNED;
  restore_handlers();
  return change_state(place, MMLOG_CRASH_RETURNED, 0, MMLOG_CRASH_SURVIVAL);
}

void mmlog_crash_noted(mmlog_crash_report *place) {
  __atomic_fetch_sub(&place->state, MMLOG_CRASH_SURVIVAL, __ATOMIC_ACQ_REL);
}

void mmlog_crash_outlive(void) {
  if (!has_started()) return;
  end_if_left();
  begin_writing();
  for (unsigned index = 0; index < maximum_places; index++) {
    mmlog_crash_report *place = place_at(index);
    if (place != NULL && has_room(load_state(place)))
      change_state(place, MMLOG_CRASH_RETURNED, 0, MMLOG_CRASH_SURVIVAL);
  }
  end_writing();
}

static bool is_held;

void mmlog_crash_before_fork(void) { is_held = wait_to_read(); }

void mmlog_crash_after_fork(void) {
  if (is_held) end_reading();
}

void mmlog_crash_forked(void) {
  set_handler_stack(0, UINTPTR_MAX);
  __atomic_store_n(&crashing, 0, __ATOMIC_RELEASE);
  __atomic_store_n(&writers, 0, __ATOMIC_RELEASE);
  end_reading();
}

bool mmlog_crash_add(mmlog_crash_report *place, const uint8_t *stream) {
  for (unsigned index = 0; index < maximum_places; index++) {
    mmlog_crash_report *none = NULL;
    if (__atomic_compare_exchange_n(
            &places[index], &none, &adding, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
      __atomic_store_n(&owners[index], getpid(), __ATOMIC_RELAXED);
      streams[index] = stream;
      used_parts[index] = 0;
      __atomic_store_n(&places[index], place, __ATOMIC_RELEASE);
      return true;
    }
  }
  return false;
}

bool mmlog_crash_remove(mmlog_crash_report *place) {
  for (unsigned index = 0; index < maximum_places; index++) {
    mmlog_crash_report *old = place;
    __atomic_compare_exchange_n(
        &places[index], &old, NULL, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
  }
  return wait_for_writers();
}

// MARK: - Stacks for handlers

// Multiples of the size of a page, which is 64 KiB at most.
enum { stack_size = 64 << 10, guard_size = 64 << 10 };
static _Thread_local uint8_t *own_stack;

void mmlog_crash_guard_thread(void) {
  stack_t old;
  if (!has_started() || own_stack != NULL || sigaltstack(NULL, &old) != 0 ||
      (old.ss_flags & SS_DISABLE) == 0)
    return;
  uint8_t *memory =
      mmap(NULL, guard_size + stack_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  stack_t new = {.ss_sp = memory + guard_size, .ss_size = stack_size};
  if (mprotect(new.ss_sp, stack_size, PROT_READ | PROT_WRITE) != 0 ||
      sigaltstack(&new, NULL) != 0) {
    munmap(memory, guard_size + stack_size);
    return;
  }
  own_stack = memory;
}

void mmlog_crash_leave_thread(void) {
  if (own_stack == NULL) return;
  stack_t old;
  const stack_t none = {.ss_flags = SS_DISABLE};
  // Unless somebody has set another stack meanwhile.
  if (sigaltstack(NULL, &old) == 0 && old.ss_sp == own_stack + guard_size) sigaltstack(&none, NULL);
  munmap(own_stack, guard_size + stack_size);
  own_stack = NULL;
}
