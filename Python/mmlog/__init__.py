"""Logs that survive the death of the process.

    import logging, mmlog

    store = mmlog.Store("/var/log/orders", "orders")
    logging.getLogger().addHandler(mmlog.Handler(store))
    logging.getLogger("orders.matching").warning("order %d late", 7, extra={"venue": "XETRA", "late_ms": 12.5})

When the call has returned, the record is in a mapped file whose pages the kernel owns: neither SIGKILL nor a crash of
the interpreter can take it back. ``mmlog-decode /var/log/orders`` reads it, also while the process runs.
"""

import ctypes
import datetime
import functools
import logging
import math
import os
import re
import struct
import sys
import threading
import time
import weakref

from . import _library
from ._library import BOOL, DOUBLE, INT, TEXT, UINT, library

__all__ = ["CRITICAL", "DEBUG", "ERROR", "INFO", "NOTICE", "TRACE", "WARNING", "Error", "Handler", "Store"]

TRACE, DEBUG, INFO, NOTICE, WARNING, ERROR, CRITICAL = range(1, 8)
_OFF = 8


class Error(OSError):
    """What mmlog could not do, and how to fix it. ``errno`` is that of the system call behind it, or 0."""

    def __str__(self):
        # Without the "[Errno 0]" of what is no failure of a system call.
        return self.strerror if self.errno == 0 else super().__str__()


def _level(number):
    """The level of mmlog for one of logging: the highest that is not above it."""
    if number >= logging.CRITICAL:
        return CRITICAL
    if number >= logging.ERROR:
        return ERROR
    if number >= logging.WARNING:
        return WARNING
    if number > logging.INFO + 4:
        return NOTICE
    if number >= logging.INFO:
        return INFO
    return DEBUG if number >= logging.DEBUG else TRACE


def _own_level(level):
    """A level of mmlog's; in place of one of logging's, whose numbers begin with 10, that of mmlog for it."""
    if TRACE <= level <= _OFF:
        return level
    if level >= logging.DEBUG:
        return _level(level)
    raise ValueError(f"{level} is no level: take one of mmlog's, such as mmlog.ERROR, or of logging's")


def _whole(name, value, most=_library.UINT64_MAX):
    """A number for C, which would wrap another round: whole, and 0 only for 0."""
    if not 0 <= value <= most:
        raise ValueError(f"{name} is {value}, and not from 0 to {most}")
    return math.ceil(value)


def _limit(name, value, most=_library.UINT64_MAX):
    """A limit for C, whose greatest number is none."""
    return most if value is None else _whole(name, value, most)


def _path(option, path):
    """A path for C."""
    return _whole_text(option, os.fsencode(path))


def _file_name(option, name):
    """A name for C, which refuses one that is not UTF-8. Nothing is replaced in it: that would name
    something else."""
    return _whole_text(option, name.encode("utf-8", "surrogateescape"))


def _whole_text(option, text):
    """Text as it is, which C would take to end at a zero byte."""
    if b"\0" in text:
        raise ValueError(f"{option} has a zero byte: {text!r}")
    return text


def _bytes(text):
    """Text as bytes. What is no character, such as half of one from a file's name, becomes a question mark."""
    return text.encode("utf-8", "replace")


def _text(text):
    """Text as C has it: a zero byte would end it."""
    return _bytes(text).replace(b"\0", b"\\x00")


class Store:
    """A directory of logs, and this process's place in it. Any thread.

    A child of ``os.fork()`` gets a ring of its own with its first record. A process that ends without ``close()`` loses
    nothing: the next one that opens the directory moves its records to archives.
    """

    def __init__(
        self,
        directory,
        name,
        *,
        level=TRACE,
        ring_directory=None,
        ring_size=0,
        full_ring="wait",
        full_ring_wait=1.0,
        rotation_size=0,
        retention_size=0,
        retention_age=0,
        records_crashes=False,
        file_mode=0,
        file_group=None,
        allows_untrusted_directory=False,
    ):
        """Opens a store: makes the directory, adopts what dead processes of this name left, and maps a ring.

        directory       where the archives are; made with mode 0700 if it is not there
        name            what the files' names begin with
        level           the lowest level that is recorded, for what logging's own levels let through
        ring_directory  where the ring is, such as /dev/shm; default: beside the archives
        ring_size       bytes, 256 KiB to 4 GiB; default 8 MiB
        full_ring       what a call does when the disk cannot keep up: "wait", "drop" the record, or "overwrite" the
                        oldest; what is lost is counted
        full_ring_wait  for how many seconds it waits at most; then the record is lost and counted
        rotation_size   bytes after which the next archive is begun; default 64 MiB; None: no such limit
        retention_size  bytes of archives that are kept; default 1 GiB; None: no such limit
        retention_age   seconds for which archives are kept; default, and None: for ever
        records_crashes fatal signals are recorded with a backtrace, before faulthandler's handlers, if those were set first
        file_mode       permission bits of the files, such as 0o640; default 0o600
        file_group      their group, by name or number
        allows_untrusted_directory
                        the directory may belong to another user, or let all users make files

        Raises Error.
        """
        policies = ("wait", "drop", "overwrite")
        if full_ring not in policies:
            raise ValueError(f"full_ring is {full_ring!r}, and not one of {', '.join(policies)}")
        options = _library.Options(
            size=ctypes.sizeof(_library.Options),
            directory=_path("directory", directory),
            name=_file_name("name", name),
            ring_directory=None if ring_directory is None else _path("ring_directory", ring_directory),
            ring_size=_whole("ring_size", ring_size),
            level=_own_level(level),
            full_ring=policies.index(full_ring),
            full_ring_wait_ms=max(
                1, _whole("full_ring_wait in milliseconds", full_ring_wait * 1000, _library.UINT32_MAX)
            ),
            rotation_size=_limit("rotation_size", rotation_size),
            retention_total_size=_limit("retention_size", retention_size),
            retention_age_s=_limit("retention_age", retention_age, _library.UINT32_MAX),
            records_crashes=records_crashes,
            file_mode=_whole("file_mode", file_mode, _library.UINT32_MAX),
            file_group=None if file_group is None else _file_name("file_group", str(file_group)),
            allows_untrusted_directory=allows_untrusted_directory,
        )
        failure = _library.Failure()
        self._renew_lock()
        _stores.add(self)
        self._store = library.mmlog_open(ctypes.byref(options), ctypes.byref(failure))
        if not self._store:
            raise _error(failure)
        self.directory = os.fspath(directory)

    def _renew_lock(self):
        # A signal handler that logs may interrupt who has it.
        self._lock = threading.RLock()
        # The threads that flush, by their calls, and what says that a call is over.
        self._flushing, self._flushed = {}, threading.Condition(self._lock)
        # How many threads wait for that to close the store: until they have, no other may begin to flush.
        self._closing = 0

    def flush(self, *, disk=False, timeout=30.0):
        """Waits until all records are in an archive, or synced to the disk. The process's death costs none anyway.

        Raises Error, if that takes longer than timeout seconds, or cannot be done; the records are still in the ring.
        """
        failure = _library.Failure()
        milliseconds = max(1, _whole("timeout in milliseconds", timeout * 1000, _library.UINT32_MAX))
        call = object()
        try:
            with self._lock:
                store = self._open
                self._flushing[call] = threading.get_ident()
            durability = 2 if disk else 1
            status = library.mmlog_flush(store, durability, milliseconds, ctypes.byref(failure))
        finally:
            with self._lock:
                self._flushing.pop(call, None)
                self._flushed.notify_all()
        if status != 0:
            raise _error(failure)

    @property
    def lost_records(self):
        """How many records were lost since the store was opened, for whatever reason."""
        with self._lock:
            return library.mmlog_lost_records(self._open)

    def set_level(self, level, pattern="*"):
        """Sets the lowest level that loggers record whose names match a pattern with * and ?.

        The level is one of mmlog's, such as mmlog.ERROR, or of logging's, such as logging.ERROR.
        """
        with self._lock:
            library.mmlog_set_levels(self._open, _text(pattern), _own_level(level))

    def logger(self, label):
        """The logger of a label in C, for Handler; None if the store is closed."""
        with self._lock:
            return library.mmlog_get_logger(self._store, _text(label)) if self._store else None

    def close(self):
        """Ends the session: moves all records to archives and syncs these. Handlers drop what they get afterwards.

        Waits until other threads have flushed, at most as long as they do.

        Raises Error, if the archive could not be written: the next store that is opened recovers what is not in it.
        """
        with self._lock:
            self._closing += 1
            try:
                # A signal handler may close the store while its own thread flushes.
                while any(thread != threading.get_ident() for thread in list(self._flushing.values())):
                    self._flushed.wait()
                store, self._store = self._store, None
            finally:
                self._closing -= 1
        if not store:
            return
        failure = _library.Failure()
        if library.mmlog_close(store, ctypes.byref(failure)) != 0:
            raise _error(failure)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def _open(self):
        if not self._store or self._closing:
            raise ValueError("the store is closed")
        return self._store


_stores = weakref.WeakSet()


def _renew_locks():
    # A thread that the child does not have may have held them.
    for store in list(_stores):
        store._renew_lock()


os.register_at_fork(after_in_child=_renew_locks)


# What options of mmlog.h, and their values, are called here.
_OPTIONS = {
    "full_ring_wait_ms": "full_ring_wait", "retention_total_size": "retention_size", "retention_age_s": "retention_age",
    ", or -1.": ", or None.",
}


def _error(failure):
    message = failure.message.decode("utf-8", "replace")
    for in_c, name in _OPTIONS.items():
        message = message.replace(in_c, name)
    # Octal numbers of C begin with a zero alone.
    if "file_mode" in message:
        message = re.sub(r"\b0(?=[0-7]{3,4}\b)", "0o", message)
    return Error(failure.system_error, message)


# What every record of logging has, which is therefore no field of anybody's. What a program's record factory adds is one.
_STANDARD = frozenset(vars(logging.LogRecord("", 0, "", 0, "", (), None))) | {"message", "asctime"}


class Handler(logging.Handler):
    """Records what logging emits.

        logging.getLogger().addHandler(mmlog.Handler(store))
        logging.config.dictConfig({"version": 1, "root": {"handlers": ["mmlog"], "level": "INFO"}, "handlers": {
            "mmlog": {"class": "mmlog.Handler", "directory": "/var/log/orders", "name": "orders"}}})

    The logger's name is the label, and extra values are fields: bool, int and float keep their types, bytes are text as
    they are, and of others str() makes text. An exception has the fields ``exception.type``, ``exception.message`` and
    ``exception.stacktrace``, and ``stack_info=True`` the field ``stack``. The message is logging's own, without what a
    formatter might add to it.

    A record's time is that of emit(). One that emit() gets more than 10 ms after it was made, as by way of a
    MemoryHandler or a QueueHandler, has the field ``log.created``: when it was made, in UTC.

    When emit() has returned, the record survives the process: there is no buffer. Safe in threads, which do not wait for
    each other, and in a child of os.fork().
    """

    # So many statements have a place in the dictionary; those that come later are one without a place.
    _MOST_SITES = 10_000
    # So many seconds after it was made a record is late: its time is then not when it happened.
    _LATE = 0.01

    def __init__(self, store=None, *, directory=None, name=None, level=logging.NOTSET, **options):
        """store      where to: a Store, which stays open when the handler is closed
        directory  instead: that of a store of the handler's own, which it opens and closes
        name       and what that one's files' names begin with
        level      the lowest level of logging that the handler takes
        options    those of Store
        """
        if (store is None) == (directory is None or name is None):
            raise TypeError("Handler takes a store, or a directory and a name")
        if store is not None and (directory is not None or name is not None or options):
            raise TypeError("a Handler with a store takes no options: give them to Store")
        # logging closes each handler that it knows, one whose store could not be opened too.
        self._owns_store = False
        super().__init__(level)
        self.store = Store(directory, name, **options) if store is None else store
        self._owns_store = store is None
        self._loggers = {}
        self._sites = {}

    def handle(self, record):
        """As that of logging, but without a lock: what C does is safe in threads, and so is what is here."""
        result = self.filter(record)
        if result:
            self.emit(result if isinstance(result, logging.LogRecord) else record)
        return result

    def emit(self, record):
        try:
            logger = self._loggers.get(record.name)
            if logger is None:
                logger = self.store.logger(record.name or "")
                if logger is None:
                    return
                self._loggers[record.name] = logger
            level = _level(record.levelno)
            if level > logger.contents.level:
                self._record(logger, level, record)
        # As logging's own handlers do.
        except RecursionError:
            raise
        except Exception:
            self.handleError(record)

    def _record(self, logger, level, record):
        values = vars(record)
        # Most have none of their own.
        pairs = [] if _STANDARD.issuperset(values) else [pair for pair in values.items() if pair[0] not in _STANDARD]
        if record.exc_info:
            pairs += self._exception(record)
        elif record.exc_text:
            pairs.append(("exception.stacktrace", record.exc_text))
        if record.stack_info:
            pairs.append(("stack", record.stack_info))
        created = record.created
        if isinstance(created, (float, int)) and time.time() - created > self._LATE:
            pairs.append(("log.created", _time(created)))
        message = ctypes.c_char_p(_text(record.getMessage()))
        library.mmlog_record_fields(
            logger, level, self._site(record), _fields(pairs) if pairs else None, len(pairs), b"%s", message)

    def _site(self, record):
        # With the function: other code may come to have the same path and line, as in a notebook, or when it is loaded
        # anew.
        key = (record.pathname, record.lineno, record.funcName)
        site = self._sites.get(key)
        if site is not None:
            return site
        if len(self._sites) >= self._MOST_SITES:
            key = ("", 0, "")
            if key in self._sites:
                return self._sites[key]
        # A record that a program has made itself may be without a place.
        path, line, function = key
        site = _library.Site(_text(path or ""), _text(function or ""), max(line or 0, 0))
        # Of all handlers and all threads the first one.
        site = self._sites[key] = _all_sites.setdefault(key, site)
        return site

    def _exception(self, record):
        kind, value, _ = record.exc_info
        if kind is None:
            return []
        name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
        text = record.exc_text or self._stack_trace(record.exc_info)
        return [("exception.type", name), ("exception.message", _string(value)), ("exception.stacktrace", text)]

    def _stack_trace(self, exc_info):
        """The formatter's text for an exception. A formatter that fails costs no record."""
        if self.formatter is not None:
            try:
                return self.formatter.formatException(exc_info)
            except Exception:
                pass
        return _formatter.formatException(exc_info)

    def flush(self):
        """Does nothing: a record is safe from the death of the process when its call returns. See Store.flush()."""

    def close(self):
        try:
            if self._owns_store:
                self.store.close()
        finally:
            super().close()


# The sites of all handlers: one that is made anew takes another place in the ring's dictionary.
_all_sites = {}
_formatter = logging.Formatter()


def _string(value):
    """A value as text. One that fails to say what it is costs its own text, and no record."""
    try:
        return str(value)
    except Exception:
        return f"<{type(value).__name__}: str() failed>"


def _time(seconds):
    """A time in seconds since 1970 as text: a date, or the number if that is in no year from 1 to 9999."""
    try:
        moment = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    except (OverflowError, ValueError, OSError):
        return str(seconds)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


_double = struct.Struct("=d").pack


def _fields(pairs):
    """Fields with the types of their values, in C. The result keeps alive what it points to."""
    members = []
    for name, value in pairs:
        kind, length = TEXT, 0
        if isinstance(value, bool):
            kind = BOOL
        elif isinstance(value, int) and -(1 << 63) <= value < 1 << 64:
            kind = INT if value < 1 << 63 else UINT
        elif isinstance(value, float):
            kind, value = DOUBLE, int.from_bytes(_double(value), sys.byteorder)
        else:
            value = bytes(value) if isinstance(value, (bytes, bytearray)) else _bytes(_string(value))
            length = len(value)
        members += (_name(name), kind, length, value)
    return ctypes.byref(_library.fields(members))


@functools.lru_cache(maxsize=1000)
def _name(name):
    return _text(str(name))
