// The statements of loggers whose formats have {}, by macros: INFO, DEBUG, and ELAPSED, which is how a number with two
// digits is written.

#ifndef STATEMENTS_HPP
#define STATEMENTS_HPP

#include "peer.hpp"

static void order(uint64_t id, const char *user, double elapsed, uint64_t quantity) {
  INFO("order {} accepted for {} in " ELAPSED " ms, quantity {}", id, user, elapsed, quantity);
}

static void text(const char *text) { INFO("{}", text); }

static void pairs(uint64_t id, const char *user, double price, int live, const char *side) {
  INFO("order accepted venue={} id={} price={} live={} side={}", user, id, price, live != 0, side);
}

#define SITE(n) \
  case n: INFO("step " #n " of order {} for {}", id, user); break;
static void site(uint64_t site, uint64_t id, const char *user) { TWENTY_SITES(SITE) }

static void disabled(uint64_t id) { DEBUG("never {}", id); }

#endif
