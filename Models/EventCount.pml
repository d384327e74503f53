/* A model for spin: waiting for the next event. One thread counts events, others wait until there is an event that they
 * have not seen. Tools/model checks the model.
 *
 *   Advancer    EventCount.advance
 *   Waiter      EventCount.current, EventCount.wait
 *
 * futex(2) compares the count and goes to sleep in one step, and wakes those who sleep in one step. The model takes for
 * granted what the code's memory orders promise.
 *
 * What is checked: nobody sleeps once the last event is counted. spin has to find the error that -DBROKEN_FLAG puts in:
 * a flag says that somebody waits, and the next event clears the flag, even if that somebody does not sleep yet.
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
    /* If nobody wakes the waiter, spin finds that the waiter does not end. */
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
