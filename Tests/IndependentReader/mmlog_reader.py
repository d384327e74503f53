#!/usr/bin/env python3
"""An independent reader of mmlog rings and archives, written from docs/FORMAT.md alone.

    mmlog_reader.py FILE_OR_DIRECTORY...
    mmlog_reader.py --consumer FILE.consumer

Prints one JSON object per record to standard output, sessions merged by wall time; a field is a list
of its name and its value with its type. Corruption, losses, unfinished records and how each session
ended go to standard error, with what its process had last in its state slots. Of a consumer, its
newest state is printed as a JSON object.
Exit status: 0 clean, 1 corruption or losses, 2 usage, 3 nothing readable.
"""

import collections
import fcntl
import hashlib
import heapq
import json
import math
import os
import re
import struct
import subprocess
import sys
import zlib
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import NamedTuple

try:
    from compression import zstd  # Python 3.14
except ImportError:
    try:
        import zstandard as zstd  # https://pypi.org/project/zstandard/
    except ImportError:
        zstd = None

RING, ARCHIVE = b"MMLOGRNG", b"MMLOGARC"
ARCHIVE_NAME = re.compile(r"-\d{8}T\d{6}Z-([0-9a-f]{32})-(\d{6,})\.mmlog$")
SYNC, TRAILER = b"\xf5MMLFRM\n", b"MMLOGEND"
RECORD, FRAGMENT, CALL_SITE, LABEL, KEY_SET, SESSION_FIELDS, LAST_STATE = 1, 2, 3, 4, 5, 6, 7
ERASED = 9
ENTRIES = range(1, 256)     # those of unknown kinds, too
KNOWN_ENTRIES = (CALL_SITE, LABEL, KEY_SET, SESSION_FIELDS, LAST_STATE)
HAS_METADATA, HAS_THREAD, WAS_CUT, UNTERMINATED, HAS_ENTRY, HAS_SPAN, HAS_CONTEXT = 1, 2, 4, 8, 16, 32, 64
LAST_FRAGMENT = 1
MAX_PAYLOAD = 64 << 20
MAX_BODY = 17 << 20
MAX_DEPTH = 16
MAX_THREADS = 1 << 15       # of a frame
MAX_PARTS = 1024            # of a call site, and keys of a key set
MAX_ALIGNMENT = 1 << 16     # of the page, 6
CAUSES = ("the ring was full", "overwritten in the ring", "cut because larger than 16 MiB",
          "logged from too deep inside other log calls", "no ring to write into",
          "corrupted in memory", "too large", "cause 7")
LEVELS = ("trace", "debug", "info", "notice", "warning", "error", "critical", "level 7")
NONZERO = re.compile(rb"[^\0]")


class Malformed(Exception):
    """What was read is not what the format says."""


class Report:
    """Lines for standard error, and whether any of them means corruption or losses."""

    def __init__(self):
        self.bad = False

    def note(self, text):
        print("mmlog_reader: " + text, file=sys.stderr)

    def corruption(self, text):
        self.bad = True
        self.note(text)


# --- Checks and primitive values (§1) --------------------------------------------------

def _crc_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


CRC_TABLE = _crc_table()


def shift(register, data):
    """Runs the CRC32C shift register over data, with no complement at either end."""
    table = CRC_TABLE
    for byte in data:
        register = table[(register ^ byte) & 255] ^ (register >> 8)
    return register


def crc32c(data):
    return shift(0xFFFFFFFF, data) ^ 0xFFFFFFFF


def u32(data, offset):
    return int.from_bytes(data[offset:offset + 4], "little")


def u64(data, offset):
    return int.from_bytes(data[offset:offset + 8], "little")


def i64(data, offset):
    return int.from_bytes(data[offset:offset + 8], "little", signed=True)


def text_field(data):
    return data.split(b"\0", 1)[0].decode("utf-8", "replace")


def seed_of(session, generation):
    return crc32c(session + generation.to_bytes(8, "little"))


class Cursor:
    """Takes words and strings from bytes, and never goes beyond their end."""

    def __init__(self, data, position=0, end=None):
        self.data, self.position = data, position
        self.end = len(data) if end is None else end

    def take(self, size):
        start = self.position
        if size > self.end - start:
            raise Malformed("too short")
        self.position = start + size
        return self.data[start:start + size]

    def word(self):
        return u64(self.take(8), 0)

    def string(self):
        size = self.word()
        return self.take(size + -size % 8)[:size]

    def text(self):
        return self.string().decode("utf-8", "replace")

    def count(self, minimum_words):
        """A number of elements that take at least so many words each."""
        count = self.word()
        if count * minimum_words * 8 > self.end - self.position:
            raise Malformed("impossible count")
        return count


# --- Records and entries in memory (§3, §4, §6) ----------------------------------------

def record_checksum(data, at, size, seed):
    register = shift(seed, data[at + 24:at + size])
    return shift(shift(register, data[at + 8:at + 24]), data[at:at + 4])


def entry_checksum(data, at, size, seed):
    return shift(shift(seed, data[at + 8:at + size]), data[at:at + 4])


def framed(data, at, end, kinds):
    """The size in bytes of what is framed at an offset, 0 if that cannot be."""
    word = u32(data, at)
    size = (word & 0xFFFFFF) * 8
    least = 16 if kinds is ENTRIES else 24
    return size if word >> 24 in kinds and least <= size <= end - at else 0


def scan(data, start, end, seed, kinds, check, past_zero, corruption):
    """Yields (offset, size) of what is valid; searches for the next valid one after anything else."""
    at, bad, stopped = start, None, False
    budget = 16 * (end - start) + (1 << 20)     # bounds the search in hostile bytes
    while at + 8 <= end:
        size = framed(data, at, end, kinds)
        if size and bad is not None:
            budget -= size
            if budget < 0:
                break
        erased = framed(data, at, end, (ERASED,)) if bad is None and kinds == (RECORD, FRAGMENT) else 0
        if erased >= 24 and shift(seed, data[at:at + 4]) == u32(data, at + 4):
            at += erased
        elif size and check(data, at, size, seed) == u32(data, at + 4):
            if bad is not None:
                corruption(bad, at)
            bad, stopped = None, False
            yield at, size
            at += size
        elif u64(data, at) == 0:
            if bad is None:
                if not past_zero:
                    return
                bad, stopped = at, True
            found = NONZERO.search(data, at, end)
            at = found.start() // 8 * 8 if found else end
        else:
            bad = at if bad is None else bad
            at += 8
    if bad is not None and not stopped:
        corruption(bad, end)


class Part(NamedTuple):
    literal: bytes          # None for an argument
    type: int = 0
    width: int = 0
    format: int = 0
    alignment: int = 0
    name: str = ""


class CallSite(NamedTuple):
    id: int
    line: int
    file: str
    function: str
    parts: list

    @property
    def span_name(self):
        """The name of spans that begin here."""
        if all(part.literal is None for part in self.parts):
            return self.function
        return "".join("{%s}" % part.name if part.literal is None else part.literal.decode()
                       for part in self.parts)


class KeySet(NamedTuple):
    id: int
    keys: list          # of (name, type)


class SessionFields(NamedTuple):
    pairs: list         # of (name, value)


def parse_entry(data):
    """A dictionary entry whose checksum has been verified: a CallSite, a KeySet, (id, label), SessionFields,
    or a list of what was in the state slots."""
    cursor = Cursor(data, 8)
    if data[3] == LAST_STATE:
        return parse_pairs(cursor)
    if data[3] == SESSION_FIELDS:
        return SessionFields(parse_pairs(cursor))
    first = cursor.word()
    if data[3] == KEY_SET:
        keys = []
        if first >> 32 & 0xFFFF > MAX_PARTS:
            raise Malformed("too many keys")
        for _ in range(first >> 32 & 0xFFFF):
            kind = cursor.word() & 255
            keys.append((cursor.text(), kind))
        return KeySet(first & 0xFFFFFFFF, keys)
    if data[3] == LABEL:
        if not 1 <= first & 0xFFFFFFFF <= 0xFFFF:
            raise Malformed("a label's number")
        return first & 0xFFFFFFFF, cursor.text()
    count = cursor.word() >> 32 & 0xFFFF
    if count > MAX_PARTS:
        raise Malformed("too many parts")
    file, function, parts = cursor.text(), cursor.text(), []
    for _ in range(count):
        word = cursor.word()
        if word & 255 == 0:
            parts.append(Part(cursor.string().decode("utf-8", "replace").encode()))
        elif word & 255 == 1:
            parts.append(Part(None, word >> 8 & 255, word >> 24 & 255, cursor.word(),
                                cursor.word(), cursor.text()))
        else:
            raise Malformed("unknown part")
    return CallSite(first & 0xFFFFFFFF, first >> 32, file, function, parts)


# --- Values and their texts (§4, §6) ---------------------------------------------------

TYPE_NAMES = ("", "int", "uint", "double", "float", "bool", "string", "bytes", "int128", "uint128",
              "redacted", "hash", "null", "array", "dictionary", "sealed")


class Single(float):
    """A value of type float."""


class Value(NamedTuple):
    type: int
    content: object     # of arrays a list of values, of dictionaries one of pairs


PLAIN_TYPES = {
    1: lambda cursor: i64(cursor.take(8), 0),
    2: Cursor.word,
    3: lambda cursor: struct.unpack("<d", cursor.take(8))[0],
    4: lambda cursor: Single(struct.unpack("<f", cursor.take(8)[:4])[0]),
    5: lambda cursor: cursor.word() != 0,
    6: Cursor.text,
    7: Cursor.string,
    8: lambda cursor: int.from_bytes(cursor.take(16), "little", signed=True),
    9: lambda cursor: int.from_bytes(cursor.take(16), "little"),
    10: lambda cursor: None,
    11: Cursor.word,
    12: lambda cursor: None,
    15: Cursor.string,
}


SLOT_KEYS = {}


def opened(sealed):
    """The text of a sealed value (§14); None without its key."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
    at = 4 + int.from_bytes(sealed[:4], "little")
    slot = bytes(sealed[4:at])
    if slot not in SLOT_KEYS:
        SLOT_KEYS[slot] = key_in([slot])
    if SLOT_KEYS[slot] is None or len(sealed) < at + 12 + 16:
        return None
    try:
        return ChaCha20Poly1305(SLOT_KEYS[slot]).decrypt(bytes(sealed[at:at + 12]), bytes(sealed[at + 12:]), None)
    except InvalidTag:
        return None


def parse_value(cursor, kind, depth=0):
    if kind == 15 and os.environ.get("MMLOG_IDENTITY"):
        sealed = cursor.string()
        text = opened(sealed)
        return Value(15, sealed) if text is None else Value(6, text.decode("utf-8", "replace"))
    if kind in PLAIN_TYPES:
        return Value(kind, PLAIN_TYPES[kind](cursor))
    if kind in (13, 14) and depth < MAX_DEPTH:
        if kind == 13:
            return Value(13, [parse_tagged(cursor, depth + 1) for _ in range(cursor.count(1))])
        return Value(14, parse_pairs(cursor, depth + 1))
    raise Malformed("impossible value type %d" % kind)


def parse_tagged(cursor, depth=0):
    return parse_value(cursor, cursor.word(), depth)            # which refuses bit 7 and higher ones


def parse_pairs(cursor, depth=0):
    return [(cursor.text(), parse_tagged(cursor, depth)) for _ in range(cursor.count(2))]


def parse_argument(cursor, kind):
    if kind & 128 and not cursor.word():
        return Value(12, None)
    return parse_value(cursor, kind & 127)


def shortest(value):
    """The shortest decimal that reads back as the same finite number."""
    if not isinstance(value, Single) or value == 0:
        return Decimal(repr(float(value)))
    exact = Decimal(float(value))
    for digits in range(1, 10):
        found = []
        for rounding in (ROUND_FLOOR, ROUND_CEILING):
            candidate = Context(prec=digits, rounding=rounding).plus(exact)
            try:
                if struct.unpack("<f", struct.pack("<f", float(candidate)))[0] == value:
                    found.append(candidate)
            except OverflowError:
                pass
        if found:
            return min(found, key=lambda candidate: abs(candidate - exact))
    return exact


def plain_float(value):
    """Floating point "as usual", the way Swift describes it."""
    if not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    decimal = shortest(value)
    limit = 2.0 ** (24 if isinstance(value, Single) else 53)
    if value and (decimal.adjusted() < -4 or abs(value) > limit):
        digits = "".join(map(str, decimal.as_tuple().digits)).rstrip("0")
        point = "." if len(digits) > 1 else ""
        sign = "-" if value < 0 else ""
        return "%s%s%s%se%+03d" % (sign, digits[0], point, digits[1:], decimal.adjusted())
    text = format(decimal, "f")
    return text if "." in text else text + ".0"


def format_float(value, style):
    letter = {5: "f", 6: "e", 7: "g"}.get(style & 255)
    precision = style >> 8 & 255
    if letter and math.isfinite(value):
        text = "%.*{}".format(letter) % (6 if precision == 255 else precision, value)
    else:
        text = plain_float(value)
    if style >> 16 & 1 and text[0] not in "-n":
        text = "+" + text
    return text.upper() if style >> 18 & 1 else text


def format_integer(value, style, width, widest):
    letter, prefix = {2: ("x", "0x"), 3: ("o", "0o"), 4: ("b", "0b")}.get(style & 255, ("d", ""))
    sign = "-" if value < 0 else "+" if style >> 16 & 1 else ""
    if value < 0 and prefix:
        sign, value = "", value & ((1 << min(width or widest, widest)) - 1)
    digits = format(abs(value), letter).zfill(style >> 24 & 255)
    if style >> 18 & 1:
        digits = digits.upper()
    return sign + (prefix if style >> 17 & 1 else "") + digits


def text_of(value, style=0, width=0):
    """The bytes that show a value in a message."""
    kind, content = value
    if kind == 7:
        return content
    if kind == 13:
        return b"[" + b", ".join(map(text_of, content)) + b"]"
    if kind == 14:
        pairs = [key.encode() + b": " + text_of(each) for key, each in content]
        return b"[" + (b", ".join(pairs) if pairs else b":") + b"]"
    if kind in (1, 2, 8, 9):
        text = format_integer(content, style, width, 128 if kind > 2 else 64)
    elif kind in (3, 4):
        text = format_float(content, style)
    else:
        text = {5: "true" if content else "false", 6: content, 10: "<private>", 12: "nil", 15: "<sealed>",
                11: "<hash:%016x>" % (content if kind == 11 else 0)}[kind]
    return text.encode()


def aligned(text, alignment):
    missing = min(alignment >> 8 & 0xFFFFFF, MAX_ALIGNMENT) - len(text.decode("utf-8", "replace"))
    spaces = b" " * max(missing, 0)
    return {1: text + spaces, 2: spaces + text}.get(alignment & 255, text)


def json_value(value):
    """A value in one line, with its type."""
    kind, content = value
    name = TYPE_NAMES[kind]
    if kind == 13:
        return "%s[%s]" % (name, ", ".join(map(json_value, content)))
    if kind == 14:
        return "%s[%s]" % (name, ", ".join("%s: %s" % (key, json_value(each))
                                           for key, each in content))
    shown = {3: lambda: struct.pack(">d", content).hex(), 4: lambda: struct.pack(">f", content).hex(),
             5: lambda: str(content).lower(), 7: lambda: content.hex(), 10: lambda: "",
             15: lambda: content.hex(),
             11: lambda: "%016x" % content, 12: lambda: ""}.get(kind, lambda: str(content))()
    return "%s %s" % (name, shown) if shown else name


# --- File headers and sessions (§2, §5, §7) ---------------------------------------------------

class Clock(NamedTuple):
    ticks: int
    wall: int
    rate: int

    def wall_of(self, ticks):
        wall = self.wall + ((ticks - self.ticks) * self.rate >> 32)
        return max(-1 << 63, min(wall, (1 << 63) - 1))


class Item(NamedTuple):
    """A record or fragment; where it came from, and its bytes from word 2 on."""
    kind: int
    thread: int
    tid: int
    thread_name: str
    ticks: int              # not before those of the item before it
    own_ticks: int
    clock: Clock
    body: bytes
    offset: int


def make_item(data, at, size, latest, clock, ordinal, tid, name):
    """The record or fragment of a checked size at an offset, of a thread unless it names another."""
    body = data[at + 16:at + size]
    thread_words = 1 if body[7] & HAS_THREAD else 0
    if len(body) < 8 * (1 + thread_words + (data[at + 3] == FRAGMENT)):
        raise Malformed("a word is missing")
    if thread_words:
        ordinal, tid, name = u32(body, 8), u32(body, 12), ""
    ticks = u64(data, at + 8)
    return Item(data[at + 3], ordinal, tid, name, max(ticks, latest), ticks, clock, body, at)


def item_level(item):
    return item.body[6]


class Session:
    """Everything that the files of one session hold."""

    def __init__(self, uuid, started, report):
        self.uuid, self.started, self.report = uuid, started, report
        self.name = uuid.hex()
        self.entry_seed = seed_of(uuid, 0)
        self.sites, self.labels, self.thread_names, self.key_sets = {}, {}, {}, {}
        self.ring_entries = []                      # those of archives come first
        self.frames, self.segments = [], {}         # items; {generation: (items, archived, captured)}
        self.ranges = {}                            # (generation, of flight records): [(from, to)]
        self.archive_level = 0                      # of the ring: below it, flight records
        self.span_limit = None                      # in nanoseconds, if spans decide about theirs
        self.lowest, self.archive_corruption, self.resumed = 0, False, None
        self.losses, self.ring_losses = [0] * 64, None
        self.ring_state, self.end = None, None
        self.numbers, self.without_trailer = set(), set()       # of its archives
        self.fields = []                            # of all records: [name, value]
        self.state = []                             # what is in the ring's state slots: (name, value)
        self.last_state = []                        # what an archive says was in them
        self.chains = {}                            # {archive: (head of the one before, its own)}
        self.newest = 0                             # archive that a dead session's ring names
        self.newest_frames = 0                      # how many frames it has at least
        self.frame_clock = None                     # of the newest frame of records

    def add_entries(self, data, past_zero, corruption, of_ring=False):
        for at, size in scan(data, 0, len(data) // 8 * 8, self.entry_seed, ENTRIES,
                             entry_checksum, past_zero, corruption):
            if data[at + 3] not in KNOWN_ENTRIES:
                continue
            try:
                entry = parse_entry(data[at:at + size])
            except Malformed:
                corruption(at, at + size)
                continue
            if isinstance(entry, SessionFields):
                self.fields = [[name, json_value(value)] for name, value in entry.pairs]
            elif isinstance(entry, list):
                self.last_state = entry
            elif of_ring:
                self.ring_entries.append(entry)
            else:
                self.learn(entry)

    def learn(self, entry):
        """Takes an entry in, unless another one has its number."""
        if isinstance(entry, CallSite):
            known = self.sites.setdefault(entry.id, entry) == entry
        elif isinstance(entry, KeySet):
            known = self.key_sets.setdefault(entry.id, entry.keys) == entry.keys
        else:
            known = self.labels.setdefault(*entry) == entry[1]
        if not known:
            self.report.corruption("%s: an entry of the dictionary has the number of another one" % self.name)

    def already_archived(self, generation, item, archived, captured):
        """Whether an archive has it, or it was evicted by a capture or when the session was closed."""
        offset, is_flight = item.offset, min(item_level(item), 6) < self.archive_level
        ranges = self.ranges.get((generation, is_flight), ())
        if is_flight:
            return (self.ring_state == 2 and self.span_limit is None or self.tie(item)[0] in self.ended_well or any(start <= offset < end for start, end in ranges)
                    or (not self.archive_corruption and offset < captured))
        return (any(start <= offset < end for start, end in ranges)
                or (not self.archive_corruption and (offset < archived or generation < self.lowest)))

    def is_newest_lost(self):
        """Whether the newest archive is not here, though the ring notes frames of it that no limit deleted."""
        return 0 < self.newest_frames < 1 << 31 and self.newest > max(self.numbers, default=0)

    def tie(self, item):
        """The span that a record belongs to, and the words that end it; 0 and None if there are none."""
        if self.span_limit is None or item.kind != RECORD or not item.body[7] & (HAS_SPAN | HAS_CONTEXT):
            return 0, None
        body, flags = item.body, item.body[7]
        cursor = Cursor(body, 16 if flags & HAS_THREAD else 8)
        try:
            site = self.inline_entry(body, cursor) if flags & HAS_ENTRY else self.sites.get(u32(body, 0))
            if site is None:
                return 0, None
            for part in site.parts:
                if part.literal is None:
                    parse_argument(cursor, part.type)
            if flags & HAS_METADATA:
                self.blocks(cursor)
            if flags & HAS_SPAN:
                first, second, third = self.span_words(cursor)
                return first & (1 << 63) - 1, (second, third) if first >> 63 else None
            return self.context(cursor, []).get("of", 0), None
        except Malformed:
            return 0, None

    def find_ended(self):
        """Finds the spans that ended well, by the ends that are in the ring."""
        for items, *_ in self.segments.values():
            for item in items:
                span, end = self.tie(item)
                if not span or not end or end[1] >> 32 & 3:
                    continue
                if self.span_limit and item.clock.rate == 0:
                    continue
                took = item.clock.wall_of(item.own_ticks) - item.clock.wall_of(end[0])
                if not self.span_limit or took <= self.span_limit:
                    self.ended_well.add(span)

    def items(self):
        """The records and fragments of all frames and segments, merged."""
        for entry in self.ring_entries:
            self.learn(entry)
        runs = self.frames[:]
        self.ended_well = set()
        if self.is_newest_lost() or any(number < max(self.numbers) for number in self.without_trailer):
            self.archive_corruption = True
        clock = self.frame_clock or Clock(0, self.started, 0)
        for items, *_ in self.segments.values():
            items[:] = [item if item.clock else item._replace(clock=clock) for item in items]
        self.find_ended()
        for generation, (items, *places) in sorted(self.segments.items()):
            runs.append([item for item in items
                         if not self.already_archived(generation, item, *places)])
        return heapq.merge(*runs, key=lambda item: item.ticks)      # of equal ones the first run's

    def decoded(self):
        """The records as (wall time, JSON object), put together from fragments where need be."""
        unfinished = {}                             # thread: (first, body's size, parts)
        for item in self.items():
            state = unfinished.pop(item.thread, None)
            if item.kind == RECORD or u32(item.body, 0) == 0:
                self.report_unfinished(state)
            if item.kind == RECORD:
                yield from self.decode(item, item.body)
                continue
            cursor = Cursor(item.body, 16 if item.body[7] & HAS_THREAD else 8)
            size, part = cursor.word(), item.body[cursor.position:]
            first, total, parts = state or (item, size, [])
            if u32(item.body, 0) == 0:
                first, total, parts = item, size, []
            if (u32(item.body, 0), size, item.own_ticks) != (len(parts), total, first.own_ticks):
                self.report_unfinished(state)
                continue
            parts.append(part)
            body = b"".join(parts) if item.body[7] & LAST_FRAGMENT else b""
            if len(body) == total and 8 <= total <= MAX_BODY and total % 8 == 0:
                yield from self.decode(first, body)
            else:
                unfinished[item.thread] = first, total, parts
        for state in unfinished.values():
            self.report_unfinished(state)

    def report_unfinished(self, state):
        if state:
            self.report.note("%s: thread %d: a record of %d bytes was never finished"
                             % (self.name, state[0].thread, state[1]))

    def decode(self, item, body):
        wall = item.clock.wall_of(item.ticks)
        try:
            yield wall, self.record(item, wall, body)
        except Malformed as error:
            self.report.corruption("%s: a record of thread %d cannot be shown: %s"
                               % (self.name, item.thread, error))

    def record(self, item, wall, body):
        site_id, label, flags = u32(body, 0), u32(body, 4) & 0xFFFF, body[7]
        message, fields = b"", []
        cursor = Cursor(body, 16 if flags & HAS_THREAD else 8)
        site = self.inline_entry(body, cursor) if flags & HAS_ENTRY else self.sites.get(site_id)
        if site is None:
            raise Malformed("unknown call site %d" % site_id)
        for part in site.parts:
            if part.literal is not None:
                message += part.literal
                continue
            value = parse_argument(cursor, part.type)
            message += aligned(text_of(value, part.format, part.width), part.alignment)
            if part.name:
                fields.append([part.name, json_value(value)])
        if flags & HAS_METADATA:
            fields += self.blocks(cursor)
        span = self.span_words(cursor) if flags & HAS_SPAN else None
        extra = self.context(cursor, fields) if flags & HAS_CONTEXT else {}
        if span:
            extra["span"] = self.span(item, wall, fields, *span, extra.pop("of", 0))
        if self.fields:
            extra["sessionFields"] = self.fields
        text = message.decode("utf-8", "replace")
        return extra | {
            "session": self.name, "time": wall, "thread": item.thread, "threadID": item.tid,
            "threadName": item.thread_name or self.thread_names.get(item.thread, ""),
            "level": LEVELS[min(body[6], 6)], "label": self.labels.get(label, ""),
            "file": site.file, "function": site.function, "line": site.line, "message": text,
            "bytes": "" if text.encode() == message else message.hex(), "fields": fields,
            "unterminated": bool(flags & UNTERMINATED), "cut": bool(flags & WAS_CUT)}

    def blocks(self, cursor):
        """The names and values of blocks of fields."""
        fields = []
        for _ in range(4):
            head = cursor.word()
            if head >> 32:
                if head >> 32 not in self.key_sets:
                    raise Malformed("unknown key set %d" % (head >> 32))
                for name, kind in self.key_sets[head >> 32]:
                    fields.append([name, json_value(parse_argument(cursor, kind))])
            for _ in range(head & 0x7FFFFFFF):
                key = cursor.text()
                fields.append([key, json_value(parse_tagged(cursor))])
            if not head >> 31 & 1:
                return fields
        raise Malformed("more than four blocks")

    def context(self, cursor, fields):
        """Span and trace that a record belongs to; its fields are added to the others."""
        head = cursor.word()
        words = Cursor(cursor.take(8 * (head & 0xFFFFFFFF)))
        found = {}
        span = words.word() & (1 << 63) - 1 if head >> 32 & 1 else 0
        if span:
            found["of"] = span
        if head >> 33 & 1:
            found["trace"] = "00-%016x%016x-%016x-%02x" % (
                words.word(), words.word(), words.word(), head >> 56)
        if head >> 34 & 1:
            fields += self.blocks(words)
        return found

    @staticmethod
    def span_words(cursor):
        """Two words where a span begins, three where it ends."""
        first, second = cursor.word(), cursor.word()
        return first, second, cursor.word() if first >> 63 else 0

    def span(self, item, wall, fields, first, second, third, outer):
        """What a record says of the span that it begins or ends."""
        number = first & (1 << 63) - 1
        if first >> 63 == 0:
            return "begin %d in %d" % (number, second or outer)
        start = item.clock.wall_of(second)
        site = self.sites.get(third & 0xFFFFFFFF)
        new = [value for name, value in fields if name == "span.name" and isinstance(value, str)]
        return "%s %d since %d after %d of %s" % (
            "failed" if third >> 32 & 1 else "end", number, start, max(0, wall - start),
            new[-1] if new else site.span_name if site else "unknown")

    def inline_entry(self, body, cursor):
        """The call site that a record carries; the cursor then ends before it."""
        size = u64(body, len(body) - 8) * 8
        cursor.end -= 8 + size
        if size < 24 or cursor.end < cursor.position:
            raise Malformed("impossible entry")
        entry = body[cursor.end:cursor.end + size]
        if (framed(entry, 0, size, (CALL_SITE,)) != size
                or entry_checksum(entry, 0, size, self.entry_seed) != u32(entry, 4)):
            raise Malformed("corrupted entry")
        return parse_entry(entry)

    def summarize(self):
        self.report_missing_archives()
        for number, count in enumerate(self.ring_losses or self.losses):
            if count:
                self.report.corruption("%s: %d lost (%s): %s"
                                   % (self.name, count, LEVELS[number % 8], CAUSES[number // 8]))
        for name, value in self.state or self.last_state:
            self.report.note("%s: state %s" % (self.name, json.dumps([name, json_value(value)])))
        if self.end:
            self.report.note("%s: %s, at %d" % ((self.name,) + self.end))
        else:
            self.report.note("%s: %s" % (self.name, "closed" if self.ring_state == 2
                                         else "still open, or killed and not yet recovered"))


    def report_missing_archives(self):
        """Numbers that are missing before the greatest: deleted by a limit, or lost."""
        expected = 1
        for number in sorted(self.numbers):
            if number > expected:
                self.report.note("%s: archives %d to %d are not here"
                                 % (self.name, expected, number - 1))
            if number in self.chains and number - 1 in self.numbers and (
                    number - 1 not in self.chains or self.chains[number - 1][1] != self.chains[number][0]):
                self.report.corruption("%s: archive %d is not chained to the one before" % (self.name, number))
            expected = number + 1
        if self.newest >= expected:
            was_sealed = self.newest_frames >> 31       # or may have been
            report = self.report.note if was_sealed else self.report.corruption
            report("%s: archive %d is not here" % (self.name, self.newest))


ENDINGS = {1: "closed", 2: "killed", 3: "exited", 4: "ended by signal %d from process %d",
           5: "crashed by signal %d from process %d", 6: "killed, or the machine went down"}


def crash_end(data):
    """The end of a session that a report of a crash states; None if there is none."""
    if data[0] not in (2, 4) or crc32c(data[8:]) != u32(data, 4):
        return None
    return ENDINGS[5] % (u32(data, 8), u32(data, 20)), i64(data, 48)


def session_end(data):
    """How a session ended, and when; None where nothing was written, or not all of it."""
    if len(data) < 32 or u32(data, 0) not in ENDINGS:
        return None
    if crc32c(data[:12] + bytes(4) + data[16:32]) != u32(data, 12):
        return None
    text = ENDINGS[u32(data, 0)]
    if "%" in text:
        text %= (u32(data, 4), u32(data, 8))
    return text, i64(data, 16)


class FileHeader(NamedTuple):
    session: bytes
    boot: bytes
    started: int


def parse_file_header(data):
    if len(data) < 512:
        raise Malformed("too short for a file header")
    if u32(data, 8) > 2:
        raise Malformed("written by a newer mmlog")
    if crc32c(data[:508]) != u32(data, 508):
        raise Malformed("corrupted file header")
    if u64(data, 24):
        raise Malformed("written by a newer mmlog")
    if u32(data, 8) < 2:
        raise Malformed("written by an mmlog from before the first release")
    if u32(data, 12) != 512 or u32(data, 32) != 0x01020304:
        raise Malformed("impossible file header")
    return FileHeader(data[40:56], data[56:72], i64(data, 80))


def running_boot():
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return bytes.fromhex(file.read().strip().replace("-", ""))
    except (OSError, ValueError):
        return b""


# --- Rings (§3) ------------------------------------------------------------------------

STATE, CLOCKS, LEDGER, CONTROL, CRASH, SLOTS, SWITCHES, HEAD, KEY_SLOTS = range(1, 10)
# {kind: (offset, size)}: where a writer of version 2 puts its areas
USUAL_AREAS = {STATE: (1024, 64), CLOCKS: (1088, 96), LEDGER: (1536, 512), CONTROL: (2048, 2560),
               CRASH: (4608, 3584), SLOTS: (8192, 8192), SWITCHES: (1184, 128), HEAD: (1312, 40),
               KEY_SLOTS: (16384, 24576)}


def parse_areas(table, limit):
    """The areas that a table names; limit is where the dictionary begins."""
    if crc32c(table[:508]) != u32(table, 508):
        raise Malformed("its checksum is wrong")
    areas, end = {}, 1024
    for at in range(0, 504, 24):
        kind, _, offset, size = struct.unpack_from("<2I2Q", table, at)
        if kind == 0:
            break
        if offset % 8 or size % 8 or offset < 1024 or size == 0 or offset + size > limit:
            raise Malformed("area %d is where it cannot be" % kind)
        if kind in USUAL_AREAS and (kind in areas or size < USUAL_AREAS[kind][1]):
            raise Malformed("area %d is there twice or too small" % kind)
        areas[kind if kind in USUAL_AREAS else (kind, at)] = offset, size
    for offset, size in sorted(areas.values()):
        if offset < end:
            raise Malformed("areas overlap at %d" % offset)
        end = offset + size
    if not {STATE, CLOCKS, LEDGER} <= areas.keys():
        raise Malformed("an area is missing")
    return areas


def ring_areas(data, limit, corruption):
    """A ring's areas; if its table cannot be read, the usual ones."""
    try:
        return parse_areas(data[512:1024], limit)
    except Malformed as error:
        corruption("area table: %s; the areas are taken to be in their usual places" % error)
        # There is room for key slots in rings that have them only.
        return {kind: place for kind, place in USUAL_AREAS.items() if sum(place) <= limit}


def ring_clock(data):
    """The clock from a ring's clock pairs (§7); None if none of them can be read."""
    pairs = {}
    for offset in (0, 32, 64):
        if crc32c(data[offset:offset + 28]) == u32(data, offset + 28):
            pairs[offset] = (u32(data, offset + 24), u64(data, offset), i64(data, offset + 8),
                             u64(data, offset + 16))
    if not pairs:
        return None
    newest = max(pairs.values())
    _, ticks, wall, monotonic = newest
    _, ticks0, _, monotonic0 = pairs.get(0, min(pairs.values()))
    elapsed, counted = (monotonic - monotonic0) % (1 << 64), (ticks - ticks0) % (1 << 64)
    rate = (elapsed << 32) // counted if counted else 1 << 64
    return Clock(ticks, wall, rate if rate < 1 << 64 else 1 << 32)


def read_segment(file, offset, size):
    """What there is of a segment, read again if its use changed meanwhile; None if it is free."""
    for _ in range(4):
        data = os.pread(file, size, offset)
        if len(data) < 128:
            return None
        if os.pread(file, 12, offset) != data[:12]:
            continue
        if u64(data, 0) == 0:
            return None
        right = crc32c(data[:8] + data[16:40] + data[48:56] + data[64:128]) == u32(data, 44)
        if u32(data, 8) == 0 and not (right and u32(data, 56)):
            return None
        if right:
            return data
    raise Malformed("a segment's header is corrupted")


def is_locked(file):
    """Whether a process has the lock of a ring, and so lives."""
    lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    return struct.unpack("hhqqi4x", fcntl.fcntl(file, fcntl.F_OFD_GETLK, lock))[0] != fcntl.F_UNLCK


def read_ring(path, sessions, report):
    def corruption(text):
        report.corruption("%s: %s" % (path, text))

    with open(path, "rb") as stream:
        file = stream.fileno()
        data = os.pread(file, 1024, 0)
        file_header, actual = parse_file_header(data), os.fstat(file).st_size
        data = data.ljust(1024, b"\0")
        (size, dictionary, dictionary_size, first, segment_size, count,
         header_size, _, uses) = struct.unpack_from("<5Q2I2Q", data, 408)
        if (dictionary < 16384 or segment_size < 136 or header_size != 128
                or (dictionary | dictionary_size | first | segment_size) % 8
                or dictionary + dictionary_size > first or first + count * segment_size > size
                or uses % 8 or uses < dictionary + dictionary_size or uses + 8 * count > first):
            raise Malformed("impossible layout")
        if actual < size:
            corruption("cut off at %d of %d bytes" % (actual, size))
        session = sessions.open(file_header)
        areas = ring_areas(data, dictionary, corruption)

        def area(kind):
            size = USUAL_AREAS[kind][1]
            return os.pread(file, size, areas[kind][0]).ljust(size, b"\0")

        state, clocks, losses = area(STATE), area(CLOCKS), area(LEDGER)
        session.ring_state = u32(state, 0)
        session.newest = 0 if is_locked(file) else u32(state, 4)
        session.newest_frames = u32(state, 28)
        session.resumed = state[8:24], u32(state, 24)
        if not session.end and session.ring_state == 1:
            session.end = session_end(state[32:64])
        if CRASH in areas:
            session.end = crash_end(area(CRASH)) or session.end
        if SLOTS in areas:
            for _ in range(3):                                  # it may be just being written
                session.state, problems = state_slots(area(SLOTS))
                if not problems:
                    break
            for place in problems:
                corruption("state slot %d is corrupted" % place)
        session.archive_level = data[456]
        session.span_limit = u64(data, 472) if data[458] else None
        key = key_in(ring_slots(area(KEY_SLOTS))) if KEY_SLOTS in areas else None
        if KEY_SLOTS in areas and key is None:
            report.note("%s: it is encrypted, and MMLOG_IDENTITY does not open it" % path)
        same_boot = any(file_header.boot) and file_header.boot == running_boot()
        clock = ring_clock(clocks)
        if clock is None:
            corruption("no clock reading can be read")
        words, noted = os.pread(file, 8 * count, uses), {}
        for number in range(count if actual > first else 0):
            try:
                use = words[8 * number:8 * number + 8]
                segment = read_segment(file, first + number * segment_size, segment_size)
                seed = seed_of(session.uuid, u64(segment, 0)) if segment else None
                if (same_boot and contradicts(use, segment_size, seed)
                        and os.pread(file, 8, uses + 8 * number) == use):
                    corruption("segment %d: the ring notes another use of it" % number)
                if segment:
                    generation, fits = u64(segment, 0), captured_place(use, segment_size, seed) is not None
                    if generation in noted:
                        corruption("segment %d: another has its generation" % number)
                        if noted[generation] or not fits:
                            continue
                    noted[generation] = fits
                    add_segment(segment, segment_size, session, clock, same_boot, not is_locked(file), use, key,
                                lambda text: corruption("segment %d: %s" % (number, text)))
            except Malformed as error:
                corruption("segment %d: %s" % (number, error))
        entries = os.pread(file, dictionary_size, dictionary)   # read after the records
        session.add_entries(entries, not same_boot, lambda start, end: corruption(
            "dictionary: %d bytes corrupted at %d" % (end - start, dictionary + start)), of_ring=True)
        session.ring_losses = list(struct.unpack("<64Q", losses))
        if CRASH in areas and not is_locked(file):
            session.ring_losses[LEVELS.index("critical")] += survived_signals(file, areas[CRASH][0], corruption)


def state_slots(data):
    """What is in the state slots, and the places of those that are corrupted."""
    values, problems, place = [], [], 0
    while place < len(data) // 64:
        slot = data[64 * place:64 * place + 64]
        place += 1
        kind, size = slot[0], slot[1]
        if slot[:8] == bytes(8):
            continue
        if not 0 < size <= 48 or crc32c(slot[:4] + slot[16:16 + size]) != u32(slot, 4):
            problems.append(place - 1)
            continue
        name = slot[16:16 + size].decode("utf-8", "replace")
        if kind == 6:
            text = newest_text(data[64 * place:64 * place + 128])
            if text is None:
                problems.append(place - 1)
            else:
                values.append((name, Value(6, text.decode("utf-8", "replace"))))
            place += 2
        elif kind in (1, 2, 3, 4, 5):
            values.append((name, parse_value(Cursor(slot, 8), kind)))
    return values, problems


def newest_text(data):
    """The newer of a text's copies that can be read; None if there should be one."""
    found = []
    for at in range(0, len(data), 64):
        size = data[at]
        words = data[at + 8:at + 8 + (size + 7) // 8 * 8]
        if size <= 56 and data[at:at + 8] != bytes(8) and crc32c(words + data[at:at + 4]) == u32(data, at + 4):
            found.append((u32(data, at) >> 8, words[:size]))
    if len(found) == 2 and (found[0][0] + 1) & 0xFFFFFF == found[1][0]:
        return found[1][1]
    if found:
        return found[0][1]
    return b"" if data[:8] == bytes(8) and data[64:72] in (b"", bytes(8)) else None


def survived_signals(file, place, corruption):
    """How many signals the process had survived of which it had made no record."""
    _, count, copy, _ = os.pread(file, 4, place).ljust(4, b"\0")
    if count == copy:
        return count
    corruption("the number of survived signals is corrupted")
    return 0


def is_place(place, complement, size):
    """Whether a segment's "archived" or "end" can be believed."""
    return (complement in (0, place ^ 0xFFFFFFFF)
            and place % 8 == 0 and 128 <= place <= size)


def captured_place(word, size, seed):
    """Where flight records that are not captured begin, as a ring says of a segment's use with this
    seed; None if it notes another use, or none."""
    if len(word) < 8 or u32(word, 4) != shift(seed, word[:4]):
        return None
    return u32(word, 0) if is_place(u32(word, 0), 0, size) else None


def contradicts(word, size, seed):
    """Whether a ring notes another use of a segment than one with this seed; None: it looks free, as
    one does that is being emptied."""
    if seed is None:
        return any(word) and u32(word, 0) != size
    return any(word) and captured_place(word, size, seed) is None


def add_segment(data, size, session, clock, same_boot, past_zero, place, key, corruption):
    generation, _, archived, thread, tid = struct.unpack_from("<Q4I", data)
    end, name = u32(data, 40), text_field(data[24:40])
    if not is_place(archived, u32(data, 56), size):
        archived = 128
    if not is_place(end, u32(data, 60), size):
        end = 0
    limit = min(len(data) // 8 * 8, end or size)
    session.thread_names[thread] = name
    items, latest, seed = [], 0, seed_of(session.uuid, generation)

    def corrupted(start, stop):
        corruption("%d bytes corrupted at %d" % (stop - start, start))

    number = u64(data, 72)
    stream = stream_of(key, number, limit) if number and key else b""
    for at, length in scan(data, 128, limit, seed, (RECORD, FRAGMENT), record_checksum,
                           past_zero, corrupted):
        record = data[at:at + length]
        if number:
            if not key:
                continue
            record = combined(record, stream, at)
        try:
            items.append(make_item(record, 0, length, latest, clock, thread, tid, name)._replace(offset=at))
            latest = items[-1].ticks
        except Malformed as error:
            corruption("record at %d: %s" % (at, error))
    captured = captured_place(place, size, seed) or 128
    session.segments[generation] = (items, archived, captured) if same_boot else (items, 0, 0)


# --- Archives (§8) ---------------------------------------------------------------------

class Frame(NamedTuple):
    at: int
    end: int
    header: bytes
    stored: bytes           # None if the file ends before the payload does

    @property
    def ordinal(self):
        return u64(self.header, 104)

    @property
    def archive(self):
        """Session and number of the archive that it belongs to."""
        return self.header[112:132]

    def index_entry(self):
        """What an index frame says about this one."""
        header = self.header
        return (self.at.to_bytes(8, "little") + header[28:32] + header[8:9] + header[96:97]
                + bytes(2) + header[32:64] + header[20:24]
                + (self.end - self.at).to_bytes(8, "little")[:4] + bytes(8))


def parse_frame(data, at, limit):
    """The frame at an offset if its header is right, else None."""
    if not data.startswith(SYNC, at) or limit - at < 160:
        return None
    header_size, stored, ranges = u32(data, at + 12), u32(data, at + 16), u32(data, at + 100)
    chained = 32 if data[at + 98] & 16 else 0
    if header_size != 160 + 40 * ranges + chained or header_size > limit - at:
        return None
    header = data[at:at + header_size]
    if crc32c(header[:132] + bytes(4) + header[136:]) != u32(header, 132):
        return None
    start = at + header_size
    end = start + stored + -stored % 8
    return Frame(at, end, header, data[start:start + stored] if end <= limit else None)


def check_chain(data, frames, session, number, corruption):
    """Whether each frame has the hash of what comes before it (§8)."""
    head = hashlib.sha256(data[:512]).digest()
    for frame in frames:
        if frame.header[98] & 32:
            corruption("frame at %d: a repair has written it in place of others" % frame.at)
        if not frame.header[98] & 16 or frame.header[-32:] != head:
            corruption("frame at %d: what comes before it is not what it says" % frame.at)
        if frame.header[8] not in (5, 7, 8):
            head = hashlib.sha256(data[frame.at:frame.end]).digest()
    session.chains[number] = (data[424:456], head)


def is_encrypted(frame):
    return bool(frame.header[98] & 8)


def key_in(slots):
    """The key that age takes out of one of some slots (§11, §13); None without one."""
    identity = os.environ.get("MMLOG_IDENTITY")
    for slot in slots if identity else []:
        age = subprocess.run(["age", "--decrypt", "--identity", identity], input=slot, capture_output=True)
        if age.returncode == 0:
            return age.stdout
    return None


def key_of(frames, kind=7):
    """The key of an archive, or with kind 8 that of its session's ring."""
    return key_in(frame.stored for frame in frames
                  if frame.header[8] == kind and crc32c(frame.stored) == u32(frame.header, 24))


def ring_slots(area):
    """The key slots in an area of a ring (§13) that can be read."""
    for at in (0, 12288):
        size, checksum, recipients = struct.unpack_from("<3I", area, at)
        start = at + 16 + 32 * recipients
        if (size and 1 <= recipients <= 64 and start + size <= at + 12288
                and crc32c(area[at + 8:start + size]) == checksum):
            yield area[start:start + size]


def stream_of(key, number, size):
    """The first bytes of a stream (§13)."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    counter = struct.pack(">2Q", number, 0)
    return Cipher(algorithms.AES(key), modes.CTR(counter)).encryptor().update(bytes(size))


def combined(record, stream, offset):
    """A record that stood at an offset of an encrypted segment, decrypted."""
    clear = 8 * (3 + bool(record[23] & HAS_THREAD) + (record[3] == FRAGMENT))
    part = stream[offset + clear:offset + len(record)]
    rest = int.from_bytes(record[clear:], "little") ^ int.from_bytes(part, "little")
    return record[:clear] + rest.to_bytes(len(part), "little")


def rows_of_sealed(payload, key):
    """A payload in rows, of one as it stood in an encrypted ring (§13)."""
    threads, count = u32(payload, 0), u32(payload, 4)
    at = 8 + 24 * threads
    numbers = [u64(payload, place) for place in range(at, at + 8 * count, 8)]
    rows, streams = [payload[:4] + bytes(4) + payload[8:at]], {}
    at += 8 * count
    while at < len(payload):
        number, offset = numbers[u32(payload, at)], u32(payload, at + 4)
        size = framed(payload, at + 8, len(payload), (RECORD, FRAGMENT))
        if not size:
            raise Malformed("no row at %d" % at)
        row = payload[at + 8:at + 8 + size]
        if number and len(streams.get(number, b"")) < offset + size:
            streams[number] = stream_of(key, number, offset + size + (1 << 16))
        rows.append(combined(row, streams[number], offset) if number else row)
        at += 8 + size
    return b"".join(rows)


def decrypted(frame, key):
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF
    header = bytearray(frame.header)
    header[24:28] = header[132:136] = bytes(4)
    derived = HKDF(SHA256(), 32, frame.stored[:24], b"mmlog frame").derive(key)
    try:
        return ChaCha20Poly1305(derived).decrypt(bytes(12), bytes(frame.stored[24:]), bytes(header))
    except InvalidTag as error:
        raise Malformed("the payload is not what was encrypted") from error


def payload_of(frame, key=None, ring_key=None):
    header, size = frame.header, u32(frame.header, 20)
    if crc32c(frame.stored) != u32(header, 24):
        raise Malformed("corrupted payload")
    if size > MAX_PAYLOAD:
        raise Malformed("impossible size")
    payload = decrypted(frame, key) if is_encrypted(frame) else frame.stored
    if header[9] & 15 == 1:
        unpack = decompressed_by_zstd if header[9] >> 4 == 2 else decompressed
        payload = rows_of_columns(payload, u32(header, 28), size, unpack)
    elif header[9] == 2:
        payload = rows_of_sealed(payload, ring_key)
    elif header[9] >> 4 == 1:
        payload = decompressed(payload, size)
    if header[9] != 0 and len(payload) != size:
        raise Malformed("payload of another size")
    return payload


def decompressed(data, size):
    """The bytes of this size that zlib's stream holds."""
    try:
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(data, size + 1)
    except zlib.error as error:
        raise Malformed("zlib: %s" % error) from error
    if not unpacker.eof or len(data) != size:
        raise Malformed("zlib stream of another size")
    return data


def decompressed_by_zstd(data, size):
    """The bytes of this size that a frame of zstd holds."""
    if zstd is None:
        raise Malformed("whole, but compressed with zstd: install Python's module zstandard")
    try:
        unpacker = zstd.ZstdDecompressor()
        unpacker = unpacker.decompressobj() if hasattr(unpacker, "decompressobj") else unpacker
        data = unpacker.decompress(data)
    except zstd.ZstdError as error:
        raise Malformed("zstd: %s" % error) from error
    if not unpacker.eof or len(data) != size:
        raise Malformed("zstd frame of another size")
    return data


def frames_of(data, limit, archive, corruption, note):
    """Yields the archive's frames with right headers; searches for the next one after anything else."""
    at, bad, budget = 512, None, 16 * limit
    while at < limit and budget > 0:
        frame = parse_frame(data, at, limit)
        is_foreign = frame is not None and frame.archive != archive
        if bad is not None and (is_foreign or frame and frame.stored is not None):
            corruption("%d bytes corrupted at %d" % (at - bad, bad))
            bad = None
        if is_foreign:
            corruption("a frame of session %s, archive %d, at %d"
                   % (frame.archive[:16].hex(), u32(frame.archive, 16), at))
        elif frame and frame.stored is not None:
            yield frame
            at = frame.end
            continue
        bad = at if bad is None else bad
        if data.startswith(SYNC, at):
            budget -= min(u32(data, at + 12), limit)
        at = data.find(SYNC, at + 1, limit)
        while at > 0 and at % 8:
            at = data.find(SYNC, at + 1, limit)
        if at < 0:
            break
    if bad is not None:
        torn = not any(data[bad:limit]) or SYNC.startswith(data[bad:min(bad + 8, limit)])
        if torn:
            note("torn write: %d bytes at %d" % (limit - bad, bad))
        else:
            corruption("%d bytes corrupted at %d" % (limit - bad, bad))


def in_order(frames, count, corruption):
    """The frames by rising ordinal, each header once; count is how many there should be, or 0."""
    ordered, headers = [], {}
    for frame in frames:
        other = headers.get(frame.header)
        if other is None:
            headers[frame.header] = len(ordered)
            ordered.append(frame)
            continue
        corruption("frame %d at %d is there already" % (frame.ordinal, frame.at))
        if crc32c(ordered[other].stored) != u32(frame.header, 24):
            ordered[other] = frame
    if any(frame.ordinal > later.ordinal for frame, later in zip(ordered, ordered[1:])):
        corruption("frames are out of order")
    ordered.sort(key=lambda frame: frame.ordinal)
    expected = 0
    for frame in ordered:
        # A repair has written it in place of what it could not read, and has said so.
        if frame.ordinal > expected and not frame.header[98] & 32:
            corruption("frames %d to %d are missing" % (expected, frame.ordinal - 1))
        elif frame.ordinal < expected:
            corruption("two frames %d" % frame.ordinal)
        expected = frame.ordinal + 1
    if count > expected:
        corruption("frames %d to %d are missing" % (expected, count - 1))
    return ordered


def archive_id(data):
    """Session and number of the archive that begins so, as its frames and its trailer have them."""
    return data[40:56] + data[408:412]


def has_trailer(data):
    at = len(data) - 80
    return (at >= 512 and data.startswith(TRAILER, at)
            and crc32c(data[at:at + 76]) == u32(data, at + 76) and u64(data, at + 32) == len(data)
            and data[at + 44:at + 64] == archive_id(data))


def end_of_archive(data):
    """Where the archive ends that a file begins with: behind its trailer, or where another's file header is."""
    at = len(data) if has_trailer(data) else 512
    while at + 80 <= len(data):
        frame = parse_frame(data, at, len(data))
        if frame and frame.stored is not None and frame.archive == archive_id(data):
            at = frame.end
        elif data.startswith(TRAILER, at) and has_trailer(data[:at + 80]):
            return at + 80
        elif data.startswith(b"MMLOGARC", at) and crc32c(data[at:at + 508]) == u32(data[at:at + 512].ljust(512), 508):
            return at
        else:
            at += 8
    return len(data)


def read_archives(path, sessions, report):
    """All that stand in a file, one after the other."""
    with open(path, "rb") as file:
        data = file.read()
    while True:
        end = end_of_archive(data)
        read_archive(path, data[:end], sessions, report)
        data = data[end:]
        if not any(data[:8]) or len(data) < 512 and b"MMLOGARC".startswith(data[:8]):
            return


def read_archive(path, data, sessions, report):
    file_header, number = parse_file_header(data), u32(data, 408)
    session = sessions.open(file_header)
    if number in session.numbers:
        report.note("%s: another copy of archive %d, left out" % (path, number))
        return
    session.numbers.add(number)

    def note(text):
        report.note("%s: %s" % (path, text))

    def corruption(text):
        session.archive_corruption = True
        report.corruption("%s: %s" % (path, text))

    closed = has_trailer(data)
    if not closed:
        session.without_trailer.add(number)
    limit = len(data) - 80 if closed else len(data)
    found = list(frames_of(data, limit, archive_id(data), corruption, note))
    key, ring_key = key_of(found), key_of(found, 8)
    has_key_slot = any(frame.header[8] == 7 or is_encrypted(frame) for frame in found)
    if key is None and any(is_encrypted(frame) for frame in found):
        note("it is encrypted, and MMLOG_IDENTITY does not open it")
    frames = []
    ordered = in_order(found, u32(data, limit + 40) if closed else 0, corruption)
    if data[456]:
        check_chain(data, ordered, session, number, corruption)
    for frame in ordered:
        try:
            add_frame(frame, frames, session, corruption, key, ring_key, has_key_slot)
        except Malformed as error:
            corruption("frame at %d: %s" % (frame.at, error))
        frames.append(frame)
    there = frames[-1].ordinal + 1 if frames else 0
    if number == session.newest and not closed and (
            session.newest_frames == 0xFFFFFFFF or there < session.newest_frames & 0x7FFFFFFF):
        corruption("the end is missing: %d frames are here" % there)
    if closed and not session.archive_corruption:
        dictionary, index, records, _, count = struct.unpack_from("<4QI", data, limit + 8)
        last = [(frame.header[8], frame.at) for frame in frames[-2:]]
        counted = sum(u32(frame.header, 28) for frame in frames if frame.header[8] == 2)
        expected = [(1, dictionary), (5, index)] if dictionary else [(5, index)]
        if last[-len(expected):] != expected or (records, count) != (counted, there):
            corruption("the trailer does not fit the frames")


def check_clear(frame, payload, seed):
    """Whether a frame in clear of an encrypted archive is one that a repair without a key writes (§11)."""
    if frame.header[8] == 2 and frame.header[98] & 32:
        at = 8 + 24 * u32(payload, 0)
        while at < len(payload):
            size = framed(payload, at, len(payload), (RECORD,))
            if not size or not is_note(payload[at + 16:at + size]):
                raise Malformed("it is in clear, and others are not")
            at += size
        return
    if frame.header[8] == 1:
        entries = [payload[at + 3] in KNOWN_ENTRIES and parse_entry(payload[at:at + size])
                   for at, size in scan(payload, 0, len(payload) // 8 * 8, seed, ENTRIES, entry_checksum,
                                        True, lambda start, end: None)]
        if all(not entry or type(entry) is tuple and entry[1] == "mmlog.repair" for entry in entries):
            return
    raise Malformed("it is in clear, and others are not")


def is_note(body):
    """Whether a record is a note of a repair."""
    if len(body) < 16 or body[6] != 5 or body[7] != HAS_ENTRY:
        return False
    end = len(body) - 8
    entry = body[max(0, end - 8 * u64(body, end)):end]
    if framed(entry, 0, len(entry), (CALL_SITE,)) != len(entry):
        return False
    parts = parse_entry(entry).parts
    return bool(parts) and parts[0].literal == b"corrupted: "


def add_frame(frame, frames, session, corruption, key=None, ring_key=None, has_key_slot=False):
    """Takes what a frame holds into its session; frames are those before it."""
    header, kind = frame.header, frame.header[8]
    if is_encrypted(frame) and key is None and crc32c(frame.stored) == u32(header, 24):
        return
    if kind not in (1, 2, 3, 4, 5, 6) or header[9] not in (
            (0x00, 0x01, 0x02, 0x10, 0x21) if kind == 2 else (0x00, 0x10)):
        return
    if header[9] == 2 and ring_key is None:
        return
    payload = payload_of(frame, key, ring_key)
    if has_key_slot and kind in (1, 2, 6) and not is_encrypted(frame):
        check_clear(frame, payload, session.entry_seed)

    def corrupted(start, end):
        corruption("frame at %d: %d bytes corrupted at %d of its payload"
               % (frame.at, end - start, start))

    if kind == 1:
        session.add_entries(payload, True, corrupted)
    elif kind == 2:
        add_rows(payload, header, session, corrupted)
    elif kind == 3 and len(payload) >= 512:
        session.losses = struct.unpack("<64Q", payload[:512])
    elif kind == 4 and session_end(payload):
        session.end = session_end(payload)
    elif kind == 5:
        before = [each for each in frames if each.header[8] not in (1, 5) and each.at < frame.at]
        entries = b"".join(each.index_entry() for each in before)
        if payload != entries and not session.archive_corruption:
            corruption("frame at %d: the index does not fit the frames" % frame.at)
        if header[97] and u32(header, 28) != sum(u32(each.header, 28) for each in frames if each.header[8] == 2):
            corruption("frame at %d: the index does not count the records" % frame.at)
    elif kind in (3, 4) or (kind == 6 and len(payload) >= 3584 and crc32c(payload[8:3584]) != u32(payload, 4)):
        raise Malformed("too short")
    end = len(header) - (32 if header[98] & 16 else 0)
    for offset in range(160, end, 40):
        generation, start, end = struct.unpack_from("<Q2I", header, offset)
        is_flight = kind == 2 and header[98] & 1 == 1
        session.ranges.setdefault((generation, is_flight), []).append((start, end))
    if not (kind == 2 and header[98] & 1):
        session.lowest = max(session.lowest, u64(header, 88))


def add_rows(payload, header, session, corrupted):
    at = 8 + 24 * u32(payload, 0)
    if at > len(payload) or u32(payload, 0) > MAX_THREADS:
        raise Malformed("impossible number of threads")
    threads = {u32(payload, place): (u32(payload, place + 4), text_field(payload[place + 8:place + 24]))
               for place in range(8, at, 24)}
    session.thread_names.update((ordinal, name) for ordinal, (_, name) in threads.items() if name)
    clock, items = Clock(u64(header, 64), i64(header, 72), u64(header, 80)), []
    session.frame_clock = clock
    session.frames.append(items)
    while at < len(payload):
        size = framed(payload, at, len(payload), (RECORD, FRAGMENT))
        if not size:
            corrupted(at, len(payload))
            return
        try:
            latest, ordinal = items[-1].ticks if items else 0, u32(payload, at + 4)
            items.append(make_item(payload, at, size, latest, clock, ordinal,
                                   *threads.get(ordinal, (0, ""))))
        except Malformed:
            corrupted(at, at + size)
        at += size
    if len(items) != u32(header, 28):
        raise Malformed("another number of records")


# --- Records in columns (§10) ----------------------------------------------------------

WORD, STRING, REST = 0, 1, 2
BLOCK = 128
MAX_NESTING = 4
MAX_PLACEHOLDERS = 1 << 16
MAX_VALUES = 1 << 20
MIN_OWN_VALUES = 24
DECIMAL, LOWER_HEX, UPPER_HEX, WHOLE_HEX, UUID_START, UUID_END = PLACEHOLDERS = range(6)
MASK = (1 << 64) - 1


def signed(number):
    return number - (1 << 64) if number >> 63 else number


class Columns:
    """Takes columns from a payload's numbers, its planes and its text."""

    def __init__(self, numbers, planes, text, room):
        self.numbers, self.planes, self.text = Cursor(numbers), Cursor(planes), Cursor(text)
        # Bytes that strings and patterns may still take, against hostile payloads.
        self.room = self.pattern_room = room

    def at_end(self):
        return all(part.position == part.end for part in (self.numbers, self.planes, self.text))

    def byte(self):
        return self.numbers.take(1)[0]

    def varint(self):
        result = 0
        for shifted in range(0, 70, 7):
            byte = self.byte()
            result |= (byte & 127) << shifted
            if byte < 128:
                if result > MASK:
                    break
                return result
        raise Malformed("a varint of more than 64 bits")

    def signed_varint(self):
        number = self.varint()
        return (number >> 1) ^ -(number & 1) & MASK

    def count(self, maximum):
        count = self.varint()
        if count > maximum:
            raise Malformed("impossible count in a column")
        return count

    def integers(self, count, depth=1):
        """A column of so many numbers, each from 0 to 2^64 - 1."""
        if count == 0:
            return []
        if depth > MAX_NESTING:
            raise Malformed("columns nested too deep")
        how = self.byte()
        if how >= len(self.ENCODINGS):
            raise Malformed("unknown column of numbers")
        return self.ENCODINGS[how](self, count, depth)

    def constant(self, count, _):
        return [self.signed_varint()] * count

    def packed(self, count, _, patched=False):
        result, base = [], 0
        for start in range(0, count, BLOCK):
            base = base + self.signed_varint() & MASK
            size, width = min(BLOCK, count - start), self.byte()
            exceptions = self.byte() if patched else 0
            if width > 64 or width == 64 and exceptions:
                raise Malformed("impossible width")
            bits = int.from_bytes(self.numbers.take((size * width + 7) // 8), "little")
            mask = (1 << width) - 1
            block = [base + (bits >> place * width & mask) & MASK for place in range(size)]
            for _ in range(exceptions):
                position = self.byte()
                block[position] = self.entry(block, position) + (self.varint() << width) & MASK
            result += block
        return result

    def patched(self, count, depth):
        return self.packed(count, depth, patched=True)

    def differences(self, count, depth):
        result = [self.signed_varint()]
        for difference in self.integers(count - 1, depth + 1):
            result.append(result[-1] + difference & MASK)
        return result

    def dictionary(self, count, depth):
        values = self.integers(self.count(count), depth + 1)
        return [self.entry(values, index) for index in self.integers(count, depth + 1)]

    def decimals(self, count, depth):
        exponent = self.byte()
        if exponent > 22:
            raise Malformed("impossible exponent")
        wholes = [signed(number) for number in self.integers(count, depth + 1)]
        if any(abs(whole) > 1 << 53 for whole in wholes):
            raise Malformed("impossible decimals")
        # Python's quotient of two integers is the nearest double.
        result = [u64(struct.pack("<d", whole / 10 ** exponent), 0) for whole in wholes]
        exceptions = self.count(count)
        positions = self.integers(exceptions, depth + 1)
        for position, number in zip(positions, self.integers(exceptions, depth + 1)):
            self.entry(result, position)
            result[position] = number
        return result

    def runs(self, count, depth):
        runs, result = self.count(count), []
        values = self.integers(runs, depth + 1)
        for value, times in zip(values, self.integers(runs, depth + 1)):
            if times > count - len(result):
                raise Malformed("runs are too long")
            result += [value] * times
        if len(result) != count:
            raise Malformed("runs are too short")
        return result

    def byte_planes(self, count, _):
        base, width, random = self.signed_varint(), self.byte(), self.byte()
        if not 1 <= width <= 8 or random >> width:
            raise Malformed("impossible planes")
        planes = [(self.numbers if random >> plane & 1 else self.planes).take(count) for plane in range(width)]
        return [base + int.from_bytes(bytes(number), "little") & MASK for number in zip(*planes)]

    def multiples(self, count, depth):
        factor = self.varint()
        quotients = self.integers(count, depth + 1)
        return [quotient * factor + rest & MASK for quotient, rest in zip(quotients, self.integers(count, depth + 1))]

    ENCODINGS = constant, packed, differences, dictionary, decimals, runs, patched, byte_planes, multiples

    @staticmethod
    def entry(values, index):
        if index >= len(values):
            raise Malformed("an index beyond its values")
        return values[index]

    def spend(self, strings):
        self.room -= sum(map(len, strings))
        if self.room < 0:
            raise Malformed("more than the frame's size")
        return strings

    def strings(self, count):
        """A column of so many byte strings."""
        if count == 0:
            return []
        how = self.byte()
        if how == 0:
            return self.spend(self.plain(count))
        if how == 1:
            values = self.plain(self.count(count))
            return self.spend([self.entry(values, index) for index in self.integers(count)])
        if how == 2:
            return self.patterned(count)
        raise Malformed("unknown column of strings")

    def plain(self, count):
        return [self.text.take(size) for size in self.integers(count)]

    def patterned(self, count):
        """Strings that are patterns with values in them, and others."""
        patterns = self.patterns(self.count(count))
        indexes = self.integers(count)
        others = iter(self.spend(self.plain(indexes.count(0))))
        found = [None if index == 0 else self.entry(patterns, index - 1) for index in indexes]
        values = self.values([places for pattern in found if pattern for _, places in [pattern]])
        return [next(others) if pattern is None else self.filled(pattern, values) for pattern in found]

    def patterns(self, count):
        """Each pattern's bytes, and the places that its columns have in the columns' order."""
        result, columns, total = [], 0, 0
        shared = self.integers(count)
        for common, rest in zip(shared, self.plain(count)):
            text, places = result[-1] if result else (b"", [])
            if common > len(places):
                raise Malformed("placeholders in common that are not there")
            ends = [at + 1 for at, byte in enumerate(text) if byte in PLACEHOLDERS]
            text = text[:ends[common - 1] if common else 0] + rest
            kinds = [byte for byte in text if byte in PLACEHOLDERS]
            new = range(columns, columns + len(kinds) - common)
            columns, total = new.stop, total + len(kinds)
            self.pattern_room -= len(text)
            if total > MAX_PLACEHOLDERS or self.pattern_room < 0:
                raise Malformed("too many placeholders, or too long patterns")
            result.append((text, places[:common] + list(zip(new, kinds[common:]))))
        return result

    def values(self, uses):
        """The values of each column, in the order of the strings, by the places of each string."""
        counts = collections.Counter(place for places in uses for place in places)
        if sum(counts.values()) > min(MAX_VALUES, self.room):
            raise Malformed("too many values in strings")
        result, few = {}, {}
        for place in sorted(counts):
            if counts[place] >= MIN_OWN_VALUES:
                result[place] = iter(self.integers(counts[place]))
            else:
                few.setdefault(place[1], []).append(place)
        for kind in sorted(few):
            numbers = iter(self.integers(sum(counts[place] for place in few[kind])))
            for place in few[kind]:
                result[place] = iter([next(numbers) for _ in range(counts[place])])
        return result

    def filled(self, pattern, values):
        text, places = pattern
        places = iter(places)
        return self.spend([b"".join(
            self.token(byte, next(values[next(places)])) if byte in PLACEHOLDERS else bytes([byte])
            for byte in text)])[0]

    @staticmethod
    def token(kind, value):
        digits = b"%d" % value if kind == DECIMAL else b"%016x" % value
        if kind in (LOWER_HEX, UPPER_HEX):
            digits = digits.lstrip(b"0")
        if kind <= UPPER_HEX:
            if digits[:1] != b"1" or len(digits) < 2:
                raise Malformed("impossible number in a string")
            return digits[1:].upper() if kind == UPPER_HEX else digits[1:]
        if kind == UUID_START:
            return digits[:8] + b"-" + digits[8:12] + b"-" + digits[12:]
        return digits[:4] + b"-" + digits[4:] if kind == UUID_END else digits


def unpacked(data, size, unpack):
    """Bytes of a known size that may be compressed."""
    if size == len(data):
        return data
    if size > MAX_PAYLOAD:
        raise Malformed("impossible size")
    return unpack(data, size)


def rows_of_columns(payload, count, size, unpack=decompressed):
    """The payload in rows of this size that a payload in columns stands for."""
    ratio = 131072 if unpack is decompressed_by_zstd else 20800
    if len(payload) < 24 or count * 24 > size or size > (4 << 20) + ratio * len(payload):
        raise Malformed("impossible columns")
    sizes, parts, end = struct.unpack_from("<6I", payload), [], 24
    for stored, unpacked_size in zip(sizes[::2], sizes[1::2]):
        if stored > len(payload) - end:
            raise Malformed("columns of another size")
        parts.append(unpacked(payload[end:end + stored], unpacked_size, unpack))
        end += stored
    if end != len(payload):
        raise Malformed("columns of another size")
    columns = Columns(*parts, size)
    threads = columns.count(size // 24)
    table = columns.numbers.take(24 * threads)
    groups = [field_kinds(columns) for _ in range(columns.count(count))]
    group, ordinals, ticks = (columns.integers(count) for _ in range(3))
    if set(group) != set(range(len(groups))) or any(ordinal >> 32 for ordinal in ordinals):
        raise Malformed("impossible group or thread")
    counts = collections.Counter(group)
    if 8 * sum(counts[number] * (2 + len(fields)) for number, (_, fields) in enumerate(groups)) > size:
        raise Malformed("more than the frame's size")
    rows = [iter(group_bodies(columns, fields, counts[number]))
            for number, (_, fields) in enumerate(groups)]
    if not columns.at_end():
        raise Malformed("more than the columns")
    result = [struct.pack("<2I", threads, 0), table]
    for place in range(count):
        body = next(rows[group[place]])
        words = len(body) // 8 + 2
        if words >> 24:
            raise Malformed("a record is too long")
        kind = groups[group[place]][0]
        result.append(struct.pack("<2IQ", words | kind << 24, ordinals[place], ticks[place]))
        result.append(body)
    return b"".join(result)


def field_kinds(columns):
    """The kind of a group's records, and of each of their fields."""
    kind = columns.byte()
    fields = columns.numbers.take(columns.count(1 << 24))
    if any(field > REST for field in fields) or (REST in fields and len(fields) > 1):
        raise Malformed("impossible fields")
    return kind, fields


def group_bodies(columns, fields, count):
    """The words from 2 on of a group's records."""
    parts = [word_parts(columns.integers(count))]
    for field in fields:
        if field == WORD:
            parts.append(word_parts(columns.integers(count)))
        elif field == STRING:
            parts.append([struct.pack("<Q", len(string)) + string + bytes(-len(string) % 8)
                          for string in columns.strings(count)])
        else:
            parts.append(columns.strings(count))
            if any(len(rest) % 8 for rest in parts[-1]):
                raise Malformed("a rest that does not fill its words")
    return [b"".join(row) for row in zip(*parts)]


def word_parts(numbers):
    return [struct.pack("<Q", number) for number in numbers]


# --- The state of a consumer (§9) ------------------------------------------------------

def newest_state(data):
    """Sequence and text of the newest slot that is whole; None: there is none."""
    size, found = len(data) // 3, None
    for at in (0, size, 2 * size):
        slot = data[at:at + size]
        if len(slot) < 24 or slot[:8] != b"MMLSHIP1":
            continue
        end = 24 + u32(slot, 16)
        if end <= size and crc32c(slot[:20] + bytes(4) + slot[24:end]) == u32(slot, 20):
            found = max(found or (0, ""), (u64(slot, 8), slot[24:end].decode()))
    return found


def batch_of(words, consumer):
    """A batch on its way, with the id that its range has."""
    name, session, records, start, end, gone, *more = words
    text = "%s\n%s\n%s" % (consumer, "" if start == "-" else start, end)
    return {"id": name, "session": session, "records": int(records), "start": start, "end": end,
            "gone": int(gone), "maybeSent": more == ["?"],
            "idOfRange": "%032x" % fnv1a(text + ("\n?" if more else ""))}


def fnv1a(text):
    """FNV-1a with 128 bits."""
    value = 0x6C62272E07BB014262B821756295C58D
    for byte in text.encode():
        value = (value ^ byte) * 0x13B + ((value ^ byte) << 88)
        value &= (1 << 128) - 1
    return value


def read_consumer(path):
    """What the newest state says; None if there is none."""
    with open(path, "rb") as file:
        newest = newest_state(file.read())
    lines = newest[1].splitlines() if newest else []
    if lines[:1] != ["mmlog-consumer 1"]:
        return None
    state = {"sequence": newest[0], "batches": [], "sessions": {}}
    for key, *words in (line.split(" ") for line in lines[1:]):
        if key == "created":
            state[key] = int(words[0])
        elif key == "cursor":
            state[key] = words[0]
        elif key == "batch":
            state["batches"].append(batch_of(words, os.path.basename(path).removesuffix(".consumer")))
        elif key == "session":
            state["sessions"][words[0]] = [int(word) for word in words[1:]]
    return state


# --- The command -----------------------------------------------------------------------

class Sessions(dict):
    """The sessions by UUID."""

    def __init__(self, report):
        super().__init__()
        self.report = report

    def open(self, file_header):
        if file_header.session not in self:
            self[file_header.session] = Session(file_header.session, file_header.started, self.report)
        return self[file_header.session]

    def distrust(self, path):
        """Nothing can be read of a file: what its archives had may be in rings alone (§5)."""
        name = ARCHIVE_NAME.search(path)
        archive = (bytes.fromhex(name[1]), int(name[2])) if name else None
        for session in self.values() if archive else ():
            if archive in ((session.uuid, archive[1]), session.resumed):
                session.archive_corruption = True


def find_files(arguments, report, sessions):
    """The files that the arguments name, as {magic: [path]}, archives by session and number."""
    found, seen = {RING: [], ARCHIVE: []}, set()
    for argument in arguments:
        inside = os.path.isdir(argument)
        names = sorted(os.listdir(argument)) if inside else [""]
        for path in (os.path.join(argument, name) if inside else argument for name in names):
            if os.path.realpath(path) in seen or (inside and not os.path.isfile(path)):
                continue
            seen.add(os.path.realpath(path))
            try:
                with open(path, "rb") as file:
                    file_header = file.read(412)
            except OSError as error:
                report.corruption("%s: %s" % (path, error.strerror))
                sessions.distrust(path)
                continue
            if file_header[:8] in found:
                found[file_header[:8]].append((file_header[40:56], u32(file_header, 408), path))
            elif not inside or path.endswith((".ring", ".mmlog")):
                report.corruption("%s: neither a ring nor an archive" % path)
                sessions.distrust(path)
    return {magic: [path for _, _, path in sorted(files)] for magic, files in found.items()}


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "--consumer":
        print(json.dumps(read_consumer(arguments[1])))
        return 0
    if not arguments or any(path.startswith("-") for path in arguments):
        print("usage: mmlog_reader.py FILE_OR_DIRECTORY... | --consumer FILE", file=sys.stderr)
        return 2
    report, quiet, readable = Report(), Report(), False
    quiet.note = lambda text: None
    sessions = Sessions(report)
    for magic, read in (RING, read_ring), (ARCHIVE, read_archives):      # rings first, §5
        for path in find_files(arguments, report if magic == RING else quiet, sessions)[magic]:
            try:
                read(path, sessions, report)
                readable = True
            except Malformed as error:
                report.corruption("%s: %s" % (path, error))
                sessions.distrust(path)
            except (OSError, MemoryError) as error:
                report.corruption("%s: cannot be read: %s" % (path, error))
                sessions.distrust(path)
    if not readable:
        report.note("nothing readable")
        return 3
    ordered = sorted(sessions.values(), key=lambda session: (session.started, session.uuid))
    streams = [session.decoded() for session in ordered]
    for _, record in heapq.merge(*streams, key=lambda pair: pair[0]):
        print(json.dumps(record))
    for session in ordered:
        session.summarize()
    return 1 if report.bad else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
