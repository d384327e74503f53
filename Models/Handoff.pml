/* A model for spin (https://spinroot.com): the handoff of records from the ring to archives. It has every interleaving of
 * two writers and the drainer, and the process is killed at any step and recovered. Tools/torture model checks the model.
 *
 *   Writer      WriterSpace.nextSegment, Ring.openSegment, Ring.seal, WriterSpace.openSegment
 *   take, give  SegmentPool
 *   discard     Ring.discardOldest, SegmentPool.acquireUnpinned
 *   recycle     Ring.evictOldest
 *   Drainer     Handoff.moveFrames, SegmentPool.pinOpen and acquireInTurn, Ring.lowestGeneration, Ring.free
 *   readAhead   Handoff.moveFrames, which collects a frame while another thread encodes the one before it
 *   capture     FlightRecorder.capture
 *   settle      FlightRecorder.eraseEnded and captureEnded
 *   Kill        Coverage.contains, Recovery.moveRecords
 *
 * What is checked: wherever the process is killed, a committed record is in the archives once after the ring has been
 * recovered, or was counted as overwritten; no segment is emptied or given away while a writer may store to it; nobody
 * waits for ever. The model takes for granted what the code's memory orders promise. A frame is on disk whole or not at
 * all, and what is in the ring's file outlives the process: power cuts are another matter.
 *
 * -DOVERWRITE: the policy that discards the oldest segment. -DFLIGHT: records with an even number are flight records, and
 * limits delete archives at any time. -DSPAN_WELL, -DSPAN_FAILED, with -DFLIGHT and two records of the first writer: the
 * flight record belongs to a span that the second writer's record ends, well or not. The flight record of a span that
 * ended well is in no archive; the flight record of a span that failed is in the archives once. -DAHEAD: the next frame
 * is collected before a frame is written. -DNO_KILL: searches for those who wait for ever instead. -DBROKEN_…: an error
 * put in on purpose, which spin has to find.
 */

#define SEGMENTS 3
#ifndef SLOTS
#define SLOTS 2 /* records in a segment: 1 or 2 */
#endif
#ifndef RECORDS
#define RECORDS 3 /* of the first writer; the second has one less */
#endif
#define IDS (2 * RECORDS - 1)
#define GENERATIONS (2 * RECORDS + 1)
#define NONE 7

#define FREE 0
#define OPEN 1
#define SEALED 2
#define ACQUIRED 3
#define RETAINED 4

#ifdef FLIGHT
#define IS_FLIGHT(number) (number % 2 == 0)
#define FLIGHTS 84 /* a bit for each of them */
#else
#define IS_FLIGHT(number) false
#define FLIGHTS 0
#endif

/* In the ring's file. Generation 0: not in use. */
typedef Segment {
  byte generation;
  byte state;
  byte archived; /* in records */
  byte end;     /* 0: open */
  byte record[SLOTS]
};
Segment ring[SEGMENTS];

/* In the archives: which records they have. And what the archives that are not deleted say: which slots of each generation
 * they cover, and the greatest lowest generation. */
short archived;
byte covered[GENERATIONS + 1];
byte archivedLowest;
#ifdef FLIGHT
byte flightCovered[GENERATIONS + 1];

/* In the ring's file: up to where flight records are captured, and in which generation. */
typedef Place { byte generation; byte end };
Place captured[SEGMENTS];
#endif

/* In the process's memory. */
byte status[SEGMENTS];
byte next[SEGMENTS];
bool pin[SEGMENTS];
bool flight[SEGMENTS]; /* whether it has flight records that were passed over, and not captured */
byte top = 1; /* number of the first free segment plus one, and how often that changed */
byte tag;
byte started;

/* Only for the checks. */
byte owner[SEGMENTS]; /* the writer that may store to it, plus one */
short committed;
short overwritten;
short forgotten; /* flight records that were evicted */
#define FLIGHT_RECORD 2 /* the span's flight record; the next line has the record that ends the span */
#define SPAN_END (RECORDS + 1)
#define IS_ENDED (committed & (1 << SPAN_END))
#define ERASED 8 /* what stands in the place of an erased flight record */
#ifdef SPAN_WELL
#define SPAN
#endif
#ifdef SPAN_FAILED
#define SPAN
#endif
#ifdef SPAN
#define IS_CUT(number) (isCut && number == SPAN_END)
bool isCut; /* whether the end comes too late for the frame at hand */
bool isEndSeen; /* whether the drainer has seen the end, and has to settle the span */
#define MAY_BE_LATER(number) (number != FLIGHT_RECORD)
#else
#define IS_CUT(number) false
#define MAY_BE_LATER(number) true
#endif
byte writersDone;

#ifdef BROKEN_NO_TAG
#define IS_TOP(old, oldTag) (top == old)
#else
#define IS_TOP(old, oldTag) (top == old && tag == oldTag)
#endif

/* SegmentPool.take: NONE if there is none. */
inline take(result) {
  atomic { old = top; oldTag = tag };
  do
  :: atomic { old == 0 -> result = NONE; break }
  :: atomic { old != 0 -> following = next[old - 1] };
    atomic {
      if
      :: IS_TOP(old, oldTag) -> top = following; tag++; result = old - 1; break
      :: else -> old = top; oldTag = tag
      fi
    }
  od;
  atomic {
    old = 0; oldTag = 0; following = 0;
    if
    :: result != NONE -> assert(status[result] == FREE); status[result] = OPEN
    :: else
    fi
  }
}

/* SegmentPool.give(back:) */
inline give(index) {
  atomic { status[index] = FREE; old = top; oldTag = tag };
  do
  :: next[index] = old;
    atomic {
      if
      :: IS_TOP(old, oldTag) -> top = index + 1; tag++; old = 0; oldTag = 0; break
      :: else -> old = top; oldTag = tag
      fi
    }
  od
}

/* Ring.free(segment:), for an acquired segment. */
inline clear(index) {
  ring[index].state = FREE;
  ring[index].generation = 0;
  atomic {
    assert(owner[index] == 0 && status[index] == ACQUIRED);
    ring[index].record[0] = 0;
    ring[index].record[SLOTS - 1] = 0
  };
  give(index)
}

/* WriterSpace.seal, Ring.seal: the writer stores nothing to the segment any more. */
inline seal(index) {
  ring[index].end = cursor;
  ring[index].state = SEALED;
  atomic { owner[index] = 0; status[index] = SEALED }
}

#ifdef FLIGHT
inline considerRetained(index) {
  if
  :: status[index] == RETAINED && ring[index].generation < oldest ->
    found = index; oldest = ring[index].generation
  :: else
  fi
}

inline forget(index, slot) {
  if
  :: slot < ring[index].end && ring[index].record[slot] != ERASED && IS_FLIGHT(ring[index].record[slot]) ->
    forgotten = forgotten | (1 << ring[index].record[slot])
  :: else
  fi
}

/* Ring.evictOldest: another thread may have acquired the segment meanwhile. */
inline recycle() {
  atomic { found = NONE; oldest = 255; considerRetained(0); considerRetained(1); considerRetained(2); oldest = 0 };
  atomic {
    if
    :: found != NONE && status[found] == RETAINED ->
      status[found] = ACQUIRED; flight[found] = false;
      forget(found, 0); forget(found, SLOTS - 1)
    :: else -> found = NONE
    fi
  };
  if
  :: found != NONE -> clear(found)
  :: else
  fi;
  found = 0
}

#define IS_RETAINED(i) (status[i] == RETAINED)
#endif

#ifdef OVERWRITE
inline consider(index) {
  if
  :: status[index] == SEALED && ring[index].generation > youngerThan &&
      (found == NONE || ring[index].generation < oldest) ->
    found = index; oldest = ring[index].generation
  :: else
  fi
}

inline count(index, slot) {
  if
  :: slot >= ring[index].archived && slot < ring[index].end ->
    overwritten = overwritten | (1 << ring[index].record[slot])
  :: else
  fi
}

/* Ring.discardOldest: `found` is the segment, or NONE. */
inline discard() {
  do
  :: atomic { found = NONE; consider(0); consider(1); consider(2) };
    atomic {
      if
      :: found == NONE -> break
      :: found != NONE && status[found] == SEALED -> status[found] = ACQUIRED
      :: found != NONE && status[found] != SEALED -> youngerThan = oldest; found = NONE
      fi
    };
    if
    :: found == NONE
#ifdef BROKEN_NO_PIN
    :: found != NONE ->
#else
    :: found != NONE && pin[found] -> atomic { status[found] = SEALED; youngerThan = oldest }
    :: found != NONE && !pin[found] ->
#endif
      atomic { count(found, 0); count(found, 1) };
      clear(found);
      break
    fi
  od;
  atomic { youngerThan = 0; oldest = 0 }
}
#endif

proctype Writer(byte me, last) {
  byte number = me * RECORDS + 1;
  byte segment = NONE, fresh, cursor, old, oldTag, following;
#ifdef OVERWRITE
  byte found, oldest, youngerThan;
#endif
#ifdef FLIGHT
  byte found, oldest;
#endif
#ifdef SPAN
  /* The span's flight record is logged before the span ends. */
  if
  :: me == 0
  :: me == 1 -> committed & (1 << FLIGHT_RECORD)
  fi;
#endif
  do
  :: atomic { number > last -> break }
  :: atomic {
      number <= last && segment != NONE && cursor < SLOTS ->
      assert(owner[segment] == me + 1 && status[segment] == OPEN);
      assert(ring[segment].record[cursor] == 0);
      ring[segment].record[cursor] = number;
      committed = committed | (1 << number);
      cursor++; number++
    }
  :: number <= last && (segment == NONE || cursor == SLOTS) ->
    take(fresh);
    if
    :: fresh == NONE ->
#ifdef OVERWRITE
      discard();
      atomic {
        if
        :: found == NONE -> number++ /* dropped, and counted */
        :: else
        fi;
        found = 0
      }
#else
#ifdef FLIGHT
      recycle();
      top != 0 || IS_RETAINED(0) || IS_RETAINED(1) || IS_RETAINED(2)
#else
      top != 0
#endif
#endif
    :: fresh != NONE ->
      atomic {
        assert(owner[fresh] == 0);
        owner[fresh] = me + 1;
        started++;
        assert(started <= GENERATIONS);
        old = started
      };
      atomic { ring[fresh].generation = old; old = 0 };
      atomic { ring[fresh].archived = 0; ring[fresh].end = 0 };
      ring[fresh].state = OPEN;
      if
      :: segment != NONE -> seal(segment)
      :: else
      fi;
      atomic { segment = fresh; fresh = 0; cursor = 0 }
    fi
  od;
  /* The thread's exit. */
  if
  :: segment != NONE -> seal(segment)
  :: else
  fi;
  writersDone++
}

#define HAS_MORE(i) (status[i] == SEALED || \
  status[i] == OPEN && ring[i].generation > 0 && ring[i].archived < SLOTS && \
  ring[i].record[ring[i].archived % SLOTS] != 0)

/* Reads a record that is to go into the frame. */
inline copy(slot) {
#ifdef SPAN
  isEndSeen = isEndSeen || slot >= from[i] && slot < to[i] && ring[i].record[slot] == SPAN_END;
#endif
  if
  :: slot >= from[i] && slot < to[i] && ring[i].record[slot] == ERASED
  :: slot >= from[i] && slot < to[i] && !IS_FLIGHT(ring[i].record[slot]) ->
    rows = rows | (1 << ring[i].record[slot])
  :: slot >= from[i] && slot < to[i] && ring[i].record[slot] != ERASED && IS_FLIGHT(ring[i].record[slot]) ->
    passes[i] = true
  :: else
  fi
}

#ifdef AHEAD
/* Reads what the frame after the present one has of a segment: all that follows in the segment by now. */
inline readAhead(i) {
  atomic {
    toAhead[i] = to[i];
    if
    :: generation[i] != 0 && !finished[i] ->
      old = ((acquired[i] && ring[i].end > 0) -> ring[i].end : SLOTS);
      do
      :: toAhead[i] < old && ring[i].record[toAhead[i]] != 0 && !IS_CUT(ring[i].record[toAhead[i]]) -> toAhead[i]++
      :: else -> break
      od;
      finishedAhead[i] = acquired[i] && (toAhead[i] == old || !IS_CUT(ring[i].record[toAhead[i]]));
      old = 0;
      copyAhead(i, 0); copyAhead(i, SLOTS - 1)
    :: else
    fi
  }
}

inline copyAhead(i, slot) {
#ifdef SPAN
  isEndSeen = isEndSeen || slot >= to[i] && slot < toAhead[i] && ring[i].record[slot] == SPAN_END;
#endif
  if
  :: slot >= to[i] && slot < toAhead[i] && ring[i].record[slot] == ERASED
  :: slot >= to[i] && slot < toAhead[i] && !IS_FLIGHT(ring[i].record[slot]) ->
    rowsAhead = rowsAhead | (1 << ring[i].record[slot])
  :: slot >= to[i] && slot < toAhead[i] && ring[i].record[slot] != ERASED && IS_FLIGHT(ring[i].record[slot]) ->
    passesAhead[i] = true
  :: else
  fi
}

/* Makes the next frame the present one, for the part that it has of this segment. */
inline goOn(i) {
#ifdef BROKEN_STALE
  if
  :: !finished[i] -> from[i] = to[i]
  :: else
  fi;
#else
  from[i] = to[i];
#endif
  to[i] = toAhead[i];
  finished[i] = finishedAhead[i]; finishedAhead[i] = false;
  passes[i] = passesAhead[i]; passesAhead[i] = false;
  toAhead[i] = 0
}
#endif

/* Notes in the frame which records it has of a segment. */
inline cover(i) {
  if
  :: from[i] < to[i] ->
    covered[generation[i]] = covered[generation[i]] | ((1 << to[i]) - (1 << from[i]))
  :: else
  fi
}

/* A part of Ring.lowestGeneration. */
inline considerLowest(i) {
  atomic {
    if
    :: status[i] == FREE || status[i] == RETAINED || finished[i]
    :: else ->
      if
      :: ring[i].generation == 0 -> isUnknown = true
      :: ring[i].generation > 0 && ring[i].generation < minimum -> minimum = ring[i].generation
      :: else
      fi
    fi
  }
}

/* Handoff.publish, for one segment. */
inline publish(i) {
  if
  :: to[i] > from[i] ->
    flight[i] = flight[i] || passes[i];
    ring[i].archived = to[i]
  :: else
  fi
}

/* Handoff.free: keeps a segment for its flight records, or empties it. */
inline finish(i) {
  if
  :: finished[i] && flight[i] -> atomic { status[i] = RETAINED; acquired[i] = false }
  :: finished[i] && !flight[i] -> clear(i); acquired[i] = false
  :: else
  fi
}

#ifdef FLIGHT
/* A limit deletes all closed archives, or none. The records in them do not count as lost. */
inline prune() {
  atomic {
    if
    :: true
    :: covered[1] + covered[2] + covered[3] + covered[4] + flightCovered[1] + flightCovered[2] +
        flightCovered[3] + flightCovered[4] + archivedLowest != 0 ->
      old = 0;
      do
      :: old <= GENERATIONS -> covered[old] = 0; flightCovered[old] = 0; old++
      :: else -> break
      od;
      old = 0; archivedLowest = 0
    fi
  }
}

/* Takes a segment for a capture, and reads it up to where it is archived. */
inline takeForCapture(i) {
  atomic {
    if
    :: flight[i] && status[i] == OPEN -> to[i] = ring[i].archived
    :: flight[i] && status[i] == SEALED ->
      status[i] = ACQUIRED; acquired[i] = true; to[i] = ring[i].archived
    :: flight[i] && status[i] == RETAINED ->
      status[i] = ACQUIRED; acquired[i] = true; finished[i] = true; to[i] = ring[i].archived
    :: else
    fi
  };
  atomic {
    if
    :: to[i] > 0 ->
      generation[i] = ring[i].generation;
      from[i] = (captured[i].generation == generation[i] -> captured[i].end : 0);
      copyFlight(0); copyFlight(SLOTS - 1)
    :: else
    fi
  }
}

inline copyFlight(slot) {
  if
  :: slot >= from[i] && slot < to[i] && ring[i].record[slot] != ERASED && IS_FLIGHT(ring[i].record[slot]) ->
    rows = rows | (1 << ring[i].record[slot])
  :: else
  fi
}

inline coverFlight(i) {
  if
  :: from[i] < to[i] ->
    flightCovered[generation[i]] = flightCovered[generation[i]] | ((1 << to[i]) - (1 << from[i]))
  :: else
  fi
}

/* The captured place: one word. */
inline note(i) {
  atomic {
    if
    :: to[i] > 0 ->
#ifndef BROKEN_NO_PLACE
      captured[i].generation = generation[i]; captured[i].end = to[i];
#endif
      flight[i] = false
    :: else
    fi
  }
}

/* FlightRecorder.capture. After that, nobody needs the retained segments. */
inline capture() {
  atomic { i = 0 };
  do
  :: i < SEGMENTS -> takeForCapture(i); i++
  :: i == SEGMENTS -> i = 0; break
  od;
  atomic {
    assert((archived & rows) == 0);
    archived = archived | rows;
    coverFlight(0); coverFlight(1); coverFlight(2);
    rows = 0
  };
  note(0); note(1); note(2);
  prune();
  finish(0); finish(1); finish(2);
  release(0); release(1); release(2)
}
#endif

#ifdef SPAN
/* FlightRecorder.erase: a store to the header word. A segment that a writer is just taking is passed over. */
inline erase(i) {
  atomic {
    if
    :: status[i] != FREE && ring[i].generation != 0 && ring[i].record[0] == FLIGHT_RECORD && ring[i].archived > 0 ->
      ring[i].record[0] = ERASED; flight[i] = false; forgotten = forgotten | (1 << FLIGHT_RECORD)
    :: status[i] != FREE && ring[i].generation != 0 && ring[i].record[SLOTS - 1] == FLIGHT_RECORD &&
        ring[i].archived == SLOTS ->
      ring[i].record[SLOTS - 1] = ERASED; flight[i] = false; forgotten = forgotten | (1 << FLIGHT_RECORD)
    :: else
    fi
  }
}

#ifdef SPAN_WELL
/* FlightRecorder.eraseEnded: before a segment that may have the span's end is freed. */
inline settle() {
  if
  :: isEndSeen -> erase(0); erase(1); erase(2); isEndSeen = false
  :: else
  fi
}
#endif

#ifdef SPAN_FAILED
/* Archives the flight record alone, from a segment that nobody else may have. */
inline captureEnded(i) {
  atomic {
    if
    :: status[i] == OPEN || status[i] == SEALED || status[i] == RETAINED ->
      if
      :: ring[i].generation != 0 && ring[i].record[0] == FLIGHT_RECORD && ring[i].archived > 0 &&
          !(captured[i].generation == ring[i].generation && captured[i].end > 0) -> slot = 0; isFound = true
      :: ring[i].generation != 0 && ring[i].record[SLOTS - 1] == FLIGHT_RECORD && ring[i].archived == SLOTS &&
          !(captured[i].generation == ring[i].generation && captured[i].end == SLOTS) ->
        slot = SLOTS - 1; isFound = true
      :: else
      fi
    :: else
    fi;
    if
    :: isFound -> kind = status[i]; if :: kind != OPEN -> status[i] = ACQUIRED :: else fi
    :: else
    fi
  };
#ifdef BROKEN_ERASE_FIRST
  if
  :: isFound -> ring[i].record[slot] = ERASED
  :: else
  fi;
#endif
  atomic {
    if
    :: isFound ->
      assert((archived & (1 << FLIGHT_RECORD)) == 0);
      archived = archived | (1 << FLIGHT_RECORD);
      flightCovered[ring[i].generation] = flightCovered[ring[i].generation] | (1 << slot)
    :: else
    fi
  };
#ifndef BROKEN_NO_ERASE
  if
  :: isFound -> ring[i].record[slot] = ERASED
  :: else
  fi;
#endif
  prune();
  atomic {
    if
    :: isFound && kind != OPEN -> status[i] = kind
    :: else
    fi;
    if
    :: isFound -> flight[i] = false
    :: else
    fi;
    isFound = false; slot = 0; kind = 0
  }
}
#endif
#endif

/* At the end of Handoff.moveFrames, for one segment. */
inline release(i) {
  atomic {
    if
    :: pins[i] -> pin[i] = false
    :: else
    fi;
    if
    :: acquired[i] -> status[i] = SEALED
    :: else
    fi;
    from[i] = 0; to[i] = 0; generation[i] = 0;
    acquired[i] = false; pins[i] = false; finished[i] = false; passes[i] = false
  }
}

proctype Drainer() {
  byte newest, lowest, minimum, i, old, oldTag;
  byte from[SEGMENTS], to[SEGMENTS], generation[SEGMENTS];
  bool acquired[SEGMENTS], pins[SEGMENTS], finished[SEGMENTS], passes[SEGMENTS];
  bool isUnknown; /* whether the header of a taken segment does not say its generation yet */
#ifdef SPAN_FAILED
  byte slot, kind;
  bool isFound;
#endif
  short rows;
#ifdef AHEAD
  byte toAhead[SEGMENTS];
  bool finishedAhead[SEGMENTS], passesAhead[SEGMENTS], isAhead;
  short rowsAhead;
#endif
  do
  :: atomic { writersDone == 2 && !(HAS_MORE(0) || HAS_MORE(1) || HAS_MORE(2)) -> break }
#ifdef FLIGHT
#ifndef SPAN_WELL
  :: flight[0] || flight[1] || flight[2] -> capture()
#endif
#endif
#ifdef SPAN_FAILED
  :: isEndSeen -> captureEnded(0); captureEnded(1); captureEnded(2); isEndSeen = false
#endif
  :: atomic {
      HAS_MORE(0) || HAS_MORE(1) || HAS_MORE(2) -> newest = started; i = 0
#ifdef SPAN
      /* Records with later ticks are left: what was logged before a record that is taken was committed by now. */
      ; isCut = (committed & (1 << FLIGHT_RECORD)) == 0
#endif
    };
    /* Handoff.acquire */
    do
    :: atomic { i == SEGMENTS -> i = 0; break }
    :: atomic { i < SEGMENTS && ring[i].generation > newest -> i++ }
    :: i < SEGMENTS && ring[i].generation <= newest ->
      if
#ifdef OVERWRITE
      :: status[i] == OPEN ->
        atomic { pin[i] = true; pins[i] = true };
        if
        :: status[i] == OPEN -> goto read
        :: status[i] != OPEN -> atomic { pin[i] = false; pins[i] = false }
        fi
#else
      :: status[i] == OPEN -> goto read
#endif
      :: status[i] != OPEN
      fi;
      atomic {
        if
        :: status[i] == SEALED -> status[i] = ACQUIRED; acquired[i] = true
        :: status[i] != SEALED && status[i] != ACQUIRED -> i++; goto passed
        fi
      };
read:
      atomic {
        if
        :: ring[i].state != FREE
        :: else -> i++; goto passed
        fi
      };
      /* The header, and then the records. */
      atomic {
        if
        :: ring[i].generation > newest || ring[i].generation == 0 -> i++; goto passed
        :: else ->
          generation[i] = ring[i].generation;
          from[i] = ring[i].archived;
          old = ((acquired[i] && ring[i].end > 0) -> ring[i].end : SLOTS);
          to[i] = from[i]
        fi
      };
      atomic {
        do
        :: to[i] < old && ring[i].record[to[i]] != 0 && !IS_CUT(ring[i].record[to[i]]) -> to[i]++
        :: else -> break
        od;
        finished[i] = acquired[i] && (to[i] == old || !IS_CUT(ring[i].record[to[i]]));
        old = 0;
        /* The frame may be full before that. But it does not have the end of a span without the earlier records. */
        if
        :: true
        :: to[i] > from[i] + 1 && MAY_BE_LATER(ring[i].record[from[i] + 1]) -> to[i] = from[i] + 1; finished[i] = false
        fi
      };
      atomic { copy(0); copy(1); i++ };
passed: skip
    od;
#ifdef AHEAD
    if
    :: rows != 0 ->
      readAhead(0); readAhead(1); readAhead(2);
      isAhead = true;
#ifdef BROKEN_AHEAD
      atomic {
        finished[0] = finished[0] || finishedAhead[0];
        finished[1] = finished[1] || finishedAhead[1];
        finished[2] = finished[2] || finishedAhead[2]
      }
#endif
    :: rows == 0
    fi;
write:
#endif
#ifdef BROKEN_PUBLISH_FIRST
    publish(0); publish(1); publish(2);
#endif
    if
    :: rows != 0 ->
      /* Ring.lowestGeneration */
      atomic { old = started; minimum = old + 1 };
      considerLowest(0);
      considerLowest(1);
      considerLowest(2);
      atomic {
        if
#ifdef BROKEN_LOWEST
        :: true -> lowest = minimum
#else
        :: started == old && !isUnknown -> lowest = minimum
        :: else
#endif
        fi;
        isUnknown = false
      };
      /* The frame: one write. */
      atomic {
        assert((archived & rows) == 0);
        archived = archived | rows;
        cover(0); cover(1); cover(2);
        if
        :: lowest > archivedLowest -> archivedLowest = lowest
        :: else
        fi;
        rows = 0; old = 0; oldTag = 0; minimum = 0
      }
    :: rows == 0
    fi;
    publish(0); publish(1); publish(2);
#ifdef FLIGHT
    prune();
#endif
#ifdef SPAN_WELL
#ifndef BROKEN_ERASE_LATE
    settle();
#endif
#endif
    finish(0); finish(1); finish(2);
#ifdef AHEAD
    atomic {
      if
      :: isAhead ->
        isAhead = false;
        goOn(0); goOn(1); goOn(2);
        rows = rowsAhead; rowsAhead = 0;
        goto write
      :: else
      fi
    };
#endif
    release(0); release(1); release(2)
#ifdef BROKEN_ERASE_LATE
    ;
    settle()
#endif
  od;
  assert((committed & ~(archived | overwritten | FLIGHTS)) == 0)
}

#ifndef NO_KILL
hidden short kept;
hidden byte segment;
hidden byte slot;
#ifdef SPAN_WELL
hidden byte isEndThere; /* whether the end is in the ring, archived or not: then recovery drops the flight record */
#endif

/* What recovery would do if the process were killed now. */
proctype Kill() {
end:
  do
  :: d_step {
      kept = archived;
      segment = 0;
#ifdef SPAN_WELL
#define HAS_END(i) (ring[i].generation != 0 && \
  (ring[i].record[0] == SPAN_END || ring[i].record[SLOTS - 1] == SPAN_END))
      isEndThere = HAS_END(0) || HAS_END(1) || HAS_END(2);
#endif
      do
      :: segment < SEGMENTS ->
        slot = 0;
        do
        :: ring[segment].generation != 0 && slot < SLOTS &&
            (ring[segment].end == 0 || slot < ring[segment].end) &&
            ring[segment].record[slot] != 0 ->
          if
#ifdef SPAN
          :: ring[segment].record[slot] == ERASED
#endif
#ifdef SPAN_WELL
          :: ring[segment].record[slot] == FLIGHT_RECORD && isEndThere != 0
#endif
#ifdef FLIGHT
          :: ring[segment].record[slot] != ERASED && IS_FLIGHT(ring[segment].record[slot]) &&
              (captured[segment].generation == ring[segment].generation && slot < captured[segment].end ||
                (flightCovered[ring[segment].generation] & (1 << slot)) != 0)
#endif
          :: !IS_FLIGHT(ring[segment].record[slot]) && (slot < ring[segment].archived || ring[segment].generation < archivedLowest ||
              (covered[ring[segment].generation] & (1 << slot)) != 0)
          :: else ->
            assert((kept & (1 << ring[segment].record[slot])) == 0); /* not twice */
            kept = kept | (1 << ring[segment].record[slot])
          fi;
          slot++
        :: else -> break
        od;
        segment++
      :: else -> break
      od;
#ifdef SPAN_WELL
      assert((committed & ~(kept | overwritten | forgotten | isEndThere << FLIGHT_RECORD)) == 0);
#else
      assert((committed & ~(kept | overwritten | forgotten)) == 0); /* none is lost */
#endif
      assert((kept & ~committed) == 0);
#ifdef SPAN_WELL
      assert(!IS_ENDED || (kept & (1 << FLIGHT_RECORD)) == 0); /* nothing of a span that ended well */
      isEndThere = false;
#endif
      kept = 0; segment = 0; slot = 0
    }
  od
}
#endif

init {
  atomic {
    next[0] = 2; next[1] = 3; next[2] = 0;
    run Writer(0, RECORDS);
    run Writer(1, IDS);
    run Drainer();
#ifndef NO_KILL
    run Kill()
#endif
  }
}
