// The statements of loggers whose formats have {}, by macros: INFO, DEBUG, and ELAPSED, the format of a number with
// two digits.

#ifndef STATEMENTS_HPP
#define STATEMENTS_HPP

#include "peer.hpp"

static void order(uint64_t id, const char *user, size_t length, double elapsed, uint64_t quantity) {
  INFO("order {} accepted for {} in " ELAPSED " ms, quantity {}", id, std::string_view(user, length), elapsed,
       quantity);
}

static void text(const char *text, size_t length) { INFO("{}", std::string_view(text, length)); }

static void pairs(uint64_t id, const char *user, size_t length, double price, int live, const char *side,
                  size_t side_length) {
  INFO("order accepted venue={} id={} price={} live={} side={}", std::string_view(user, length), id, price, live != 0,
       std::string_view(side, side_length));
}

#define SITE(n) \
  case n: INFO("step " #n " of order {} for {}", id, std::string_view(user, length)); break;
static void site(uint64_t site, uint64_t id, const char *user, size_t length) { TWENTY_SITES(SITE) }

static void disabled(uint64_t id) { DEBUG("never {}", id); }

#endif
