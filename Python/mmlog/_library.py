"""What of mmlog.h Python calls, by ctypes."""

import ctypes
import functools
import glob
import os
import sys

# The kinds of fields that mmlog.h numbers.
INT, UINT, DOUBLE, BOOL, TEXT = 1, 2, 3, 4, 5


UINT32_MAX = 2**32 - 1
UINT64_MAX = 2**64 - 1


class Options(ctypes.Structure):
    """mmlog_options: its size says which members are known here."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("directory", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("ring_directory", ctypes.c_char_p),
        ("ring_size", ctypes.c_size_t),
        ("segment_size", ctypes.c_size_t),
        ("dictionary_size", ctypes.c_size_t),
        ("level", ctypes.c_int),
        ("archive_level", ctypes.c_int),
        ("capture_level", ctypes.c_int),
        ("sync_level", ctypes.c_int),
        ("full_ring", ctypes.c_int),
        ("full_ring_wait_ms", ctypes.c_uint32),
        ("drain_interval_ms", ctypes.c_uint32),
        ("sync_interval_ms", ctypes.c_uint32),
        ("rotation_size", ctypes.c_uint64),
        ("rotation_age_s", ctypes.c_uint32),
        ("retention_total_size", ctypes.c_uint64),
        ("retention_age_s", ctypes.c_uint32),
        ("retention_count", ctypes.c_uint32),
        ("records_crashes", ctypes.c_bool),
        ("serves_signal_handlers", ctypes.c_bool),
        ("no_fault_containment", ctypes.c_bool),
        ("allows_untrusted_directory", ctypes.c_bool),
        ("no_termination_records", ctypes.c_bool),
        ("file_mode", ctypes.c_uint32),
        ("file_group", ctypes.c_char_p),
    ]


class Failure(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("system_error", ctypes.c_int), ("message", ctypes.c_char * 1008)]


class Field(ctypes.Structure):
    """mmlog_field. ctypes takes bytes for the value, and numbers: the bits of the union's other members."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("kind", ctypes.c_int),
        ("length", ctypes.c_size_t),
        ("value", ctypes.c_char_p),
    ]


# Up to so many fields have a type of their own, for each number of them.
_FEW = 64


def fields(members):
    """An array of mmlog_field, of name, kind, length and value of each."""
    count = len(members) // 4
    if count <= _FEW:
        return _few_fields(count)(*members)
    return (Field * count)(*zip(*[iter(members)] * 4))


@functools.lru_cache(maxsize=None)
def _few_fields(count):
    """A type for an array of so many: made at once, from all members, which takes a fraction of the time that an object
    for each takes."""
    members = [(f"{name}{index}", kind) for index in range(count) for name, kind in Field._fields_]
    return type("Fields", (ctypes.Structure,), {"_fields_": members})


class Site(ctypes.Structure):
    """What is known of a log statement; lives as long as the process."""

    _fields_ = [
        ("file", ctypes.c_char_p),
        ("function", ctypes.c_char_p),
        ("line", ctypes.c_uint32),
        ("state", ctypes.c_uint32),
        ("plan", ctypes.c_uint16 * 16),
    ]


class Logger(ctypes.Structure):
    """What C inspects of a logger: the lowest level that it records, less one."""

    _fields_ = [("level", ctypes.c_uint32)]


# As linkers know it: with the number of its interface.
NAME = "libmmlog.so.1"


def _load():
    """That of $MMLOG_LIBRARY, if it is set; else the one beside this file, as in a wheel, or one that is installed."""
    here = os.path.dirname(os.path.abspath(__file__))
    wanted = os.environ.get("MMLOG_LIBRARY")
    # A path may have what is special in a pattern.
    places = [wanted] if wanted else [*sorted(glob.glob(os.path.join(glob.escape(here), "libmmlog.so.*"))), NAME]
    problems = []
    for place in places:
        try:
            return ctypes.CDLL(place)
        except OSError as error:
            problems.append(str(error))
    raise ImportError(
        NAME + " cannot be loaded: install the wheel, or set MMLOG_LIBRARY to its path (" + "; ".join(problems) + ")"
    )


def _declare(library):
    store, failure = ctypes.c_void_p, ctypes.POINTER(Failure)
    logger = ctypes.POINTER(Logger)
    for name, result, *arguments in [
        ("mmlog_open", store, ctypes.POINTER(Options), failure),
        ("mmlog_close", ctypes.c_int, store, failure),
        ("mmlog_flush", ctypes.c_int, store, ctypes.c_int, ctypes.c_uint32, failure),
        ("mmlog_lost_records", ctypes.c_uint64, store),
        ("mmlog_get_logger", logger, store, ctypes.c_char_p),
        ("mmlog_set_levels", None, store, ctypes.c_char_p, ctypes.c_int),
        (
            # The format's arguments follow: each with a type of its own, as ctypes cannot know it.
            "mmlog_record_fields", None, logger, ctypes.c_int, ctypes.POINTER(Site), ctypes.c_void_p,
            ctypes.c_size_t, ctypes.c_char_p,
        ),
    ]:
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


if not sys.platform.startswith("linux"):
    raise ImportError("mmlog needs Linux")
library = _declare(_load())
