/* Waiting for the next event, for spin: one thread counts events, others wait until there was one that they have not
 * seen. Tools/model checks it.
 *
 *   Advancer    EventCount.advance
 *   Waiter      EventCount.current, EventCount.wait
 *
 * futex(2) compares the count and goes to sleep in one step, and wakes those who sleep in one step. What the code's
 * memory orders promise is taken for granted.
 *
 * What is checked: nobody sleeps once the last event is counted. -DBROKEN_FLAG has to be found: a flag that says that
 * somebody waits, and that the next event takes back, also from somebody who does not sleep yet.
 */

#define EVENTS 3
#define WAITERS 2

byte count;
byte waiters;
#ifdef BROKEN_FLAG
bool hasWaiters;
#endif
bool sleeps[WAITERS];

inline wakeAll() {
  d_step {
    sleeps[0] = false;
    sleeps[1] = false
  }
}

proctype Advancer() {
  byte events;
  bool wakes;
  do
  :: events == EVENTS -> break
  :: events < EVENTS ->
    events++;
    count++;
#ifdef BROKEN_FLAG
    d_step { wakes = hasWaiters; hasWaiters = false };
#else
    wakes = waiters > 0;
#endif
    if
    :: wakes -> wakeAll()
    :: !wakes
    fi
  od
}

proctype Waiter(byte who) {
  byte seen;
  do
  :: seen == EVENTS -> break
  :: seen < EVENTS ->
    seen = count;
    if
    :: seen == EVENTS -> break
    :: seen < EVENTS
    fi;
    waiters++;
#ifdef BROKEN_FLAG
    hasWaiters = true;
#endif
    sleeps[who] = (count == seen);
    /* Where nobody wakes it, spin finds that it does not end. */
    !sleeps[who];
    waiters--
  od
}

init {
  atomic {
    run Advancer();
    run Waiter(0);
    run Waiter(1)
  }
}
