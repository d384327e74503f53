package main

// #cgo pkg-config: mmlog
// #include <mmlog.h>
// #include <stdlib.h>
//
// // Go calls no function with variable arguments.
// static void record(mmlog_logger *logger, mmlog_level level, mmlog_site *site, const mmlog_field *fields, size_t count,
//                    const char *message) {
//   mmlog_record_fields(logger, level, site, fields, count, "%s", message);
// }
// static mmlog_site *new_site(const char *file, const char *function, uint32_t line) {
//   mmlog_site *site = calloc(1, sizeof *site);
//   if (site == NULL) abort();
//   site->file = file;
//   site->function = function;
//   site->line = line;
//   return site;
// }
// static mmlog_field *field_at(mmlog_field *fields, size_t index) { return &fields[index]; }
// static void set_int(mmlog_field *field, const char *name, int64_t value) { *field = mmlog_field_int(name, value); }
// static void set_uint(mmlog_field *field, const char *name, uint64_t value) {
//   *field = mmlog_field_uint(name, value);
// }
// static void set_double(mmlog_field *field, const char *name, double value) { *field = mmlog_field_double(name, value); }
// static void set_bool(mmlog_field *field, const char *name, bool value) { *field = mmlog_field_bool(name, value); }
// static void set_text(mmlog_field *field, const char *name, const char *text) { *field = mmlog_field_text(name, text); }
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unsafe"
)

// Level says how much a record matters.
type Level C.mmlog_level

// The levels, from the least important on.
const (
	Trace    Level = C.MMLOG_TRACE
	Debug    Level = C.MMLOG_DEBUG
	Info     Level = C.MMLOG_INFO
	Notice   Level = C.MMLOG_NOTICE
	Warning  Level = C.MMLOG_WARNING
	Error    Level = C.MMLOG_ERROR
	Critical Level = C.MMLOG_CRITICAL
)

// Store is a directory of logs, and this process's place in it.
type Store struct{ store *C.mmlog_store }

// Open opens a store. The error says what failed and how to fix it.
func Open(directory, name string) (*Store, error) {
	cDirectory, cName := text(directory), text(name)
	defer C.free(unsafe.Pointer(cDirectory))
	defer C.free(unsafe.Pointer(cName))
	// In C's memory, since C must not get a pointer to memory of Go's that has other pointers in it.
	options := (*C.mmlog_options)(C.calloc(1, C.sizeof_mmlog_options))
	defer C.free(unsafe.Pointer(options))
	options.size = C.sizeof_mmlog_options
	options.directory, options.name = cDirectory, cName
	var failure C.mmlog_failure
	store := C.mmlog_open(options, &failure)
	if store == nil {
		return nil, errors.New(C.GoString(&failure.message[0]))
	}
	return &Store{store}, nil
}

// Close moves all records to archives and syncs these. A process that ends without it loses nothing.
func (s *Store) Close() error {
	var failure C.mmlog_failure
	if C.mmlog_close(s.store, &failure) != 0 {
		return errors.New(C.GoString(&failure.message[0]))
	}
	return nil
}

// Logger writes records under a label, from any goroutine.
type Logger struct{ logger *C.mmlog_logger }

// Logger returns the logger of a label, which stays valid for ever. Keep it.
func (s *Store) Logger(label string) Logger {
	cLabel := text(label)
	defer C.free(unsafe.Pointer(cLabel))
	return Logger{C.mmlog_get_logger(s.store, cLabel)}
}

// Log records a message, with fields given as name, value, name, value. It survives the process when Log returns.
//
// Numbers of the types below and bool keep their types; other values, such as a time.Duration,
// become text. As in log/slog, a value without a name has the name !BADKEY.
func (l Logger) Log(level Level, message string, pairs ...any) {
	if !C.mmlog_is_enabled(l.logger, C.mmlog_level(level)) {
		return
	}
	cMessage := text(message)
	defer C.free(unsafe.Pointer(cMessage))
	if len(pairs)%2 != 0 {
		last := len(pairs) - 1
		pairs = append(pairs[:last:last], "!BADKEY", pairs[last])
	}
	count := len(pairs) / 2
	var fields *C.mmlog_field
	if count > 0 {
		fields = (*C.mmlog_field)(C.calloc(C.size_t(count), C.sizeof_mmlog_field))
		defer C.free(unsafe.Pointer(fields))
	}
	for index := 0; index < count; index++ {
		name := text(fmt.Sprint(pairs[2*index]))
		defer C.free(unsafe.Pointer(name))
		field := C.field_at(fields, C.size_t(index))
		switch value := pairs[2*index+1].(type) {
		case int:
			C.set_int(field, name, C.int64_t(value))
		case int32:
			C.set_int(field, name, C.int64_t(value))
		case int64:
			C.set_int(field, name, C.int64_t(value))
		case uint:
			C.set_uint(field, name, C.uint64_t(value))
		case uint32:
			C.set_uint(field, name, C.uint64_t(value))
		case uint64:
			C.set_uint(field, name, C.uint64_t(value))
		case float32:
			C.set_double(field, name, C.double(value))
		case float64:
			C.set_double(field, name, C.double(value))
		case bool:
			C.set_bool(field, name, C.bool(value))
		default:
			cValue := text(fmt.Sprint(value))
			defer C.free(unsafe.Pointer(cValue))
			C.set_text(field, name, cValue)
		}
	}
	C.record(l.logger, C.mmlog_level(level), callSite(), fields, C.size_t(count), cMessage)
}

// sites has the call site of each statement, by its place. It is kept for ever, since C refers to
// it.
var sites sync.Map

// callSite returns the call site of the caller of Log.
func callSite() *C.mmlog_site {
	pc, file, line, _ := runtime.Caller(2)
	if known, ok := sites.Load(pc); ok {
		return known.(*C.mmlog_site)
	}
	function := "?"
	if found := runtime.FuncForPC(pc); found != nil {
		function = found.Name()
	}
	// If several goroutines come here at once, one wins; the sites of the others stay unused.
	site, _ := sites.LoadOrStore(pc, C.new_site(text(file), text(function), C.uint32_t(line)))
	return site.(*C.mmlog_site)
}

// text is a string in C, to be freed. A zero byte would end it.
func text(value string) *C.char { return C.CString(strings.ReplaceAll(value, "\x00", "\\0")) }
