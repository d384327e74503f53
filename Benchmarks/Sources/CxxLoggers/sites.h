// Twenty log statements, each a call site of its own. `site` chooses one of them.

#define TWENTY_SITES(SITE)                                                                                     \
  switch (site) {                                                                                              \
    SITE(0) SITE(1) SITE(2) SITE(3) SITE(4) SITE(5) SITE(6) SITE(7) SITE(8) SITE(9)                            \
    SITE(10) SITE(11) SITE(12) SITE(13) SITE(14) SITE(15) SITE(16) SITE(17) SITE(18) SITE(19)                  \
  }
