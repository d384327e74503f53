/* A model for spin: closing a store while other threads log. A log call makes its writer busy and then reads the gate.
 * Closing changes the gate, makes a barrier on all threads, and then checks which writers are busy. Tools/torture model
 * checks the model.
 *
 *   Caller      the hot path of Logger, mmlog_begin_busy, mmlog_gate_is_open, mmlog_end_busy
 *   Closer      StoreCore.close, LabelTable.setGates, Session.waitForWriters, Session.shutDown
 *
 * Other processors may see a processor's stores only after its later loads. So each caller has a buffer of stores, which
 * reach memory in order, at any time, or at membarrier(2).
 *
 * What is checked: no call stores to the ring once the ring is unmapped; closing ends. spin has to find the errors that
 * -DBROKEN_NO_BARRIER and -DBROKEN_LATE_BUSY put in.
 */

#define CALLERS 2
#define CALLS 2

mtype = { busy, record, idle };

chan buffer[CALLERS] = [3] of { mtype };
bool isBusy[CALLERS];
bool isClosed;
bool isMapped = true;

/* What a store does when it reaches memory. */
inline arrive(who) {
  if
  :: buffer[who]?busy -> isBusy[who] = true
  :: buffer[who]?record -> assert(isMapped)
  :: buffer[who]?idle -> isBusy[who] = false
  fi
}

proctype Processor(byte who) {
end:
  do
  :: atomic { nempty(buffer[who]) -> arrive(who) }
  od
}

proctype Caller(byte who) {
  byte calls;
  do
  :: calls == CALLS -> break
  :: calls < CALLS ->
    calls++;
#ifdef BROKEN_LATE_BUSY
    if
    :: isClosed
    :: !isClosed -> buffer[who]!busy; buffer[who]!record; buffer[who]!idle
    fi
#else
    buffer[who]!busy;
    if
    :: isClosed
    :: !isClosed -> buffer[who]!record
    fi;
    buffer[who]!idle
#endif
  od
}

proctype Closer() {
  byte who;
  isClosed = true;
#ifndef BROKEN_NO_BARRIER
  /* One thread after the other. */
  do
  :: who == CALLERS -> break
  :: who < CALLERS ->
    atomic {
      do
      :: nempty(buffer[who]) -> arrive(who)
      :: empty(buffer[who]) -> break
      od;
      who++
    }
  od;
#endif
  who = 0;
  do
  :: who == CALLERS -> break
  :: who < CALLERS -> !isBusy[who]; who++
  od;
  isMapped = false
}

init {
  atomic {
    run Processor(0);
    run Processor(1);
    run Caller(0);
    run Caller(1);
    run Closer()
  }
}
