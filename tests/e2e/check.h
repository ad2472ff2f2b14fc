/* Checks of a test in C: what does not hold is printed and counted. */
#ifndef NAUTILUS_TESTS_CHECK_H
#define NAUTILUS_TESTS_CHECK_H

#include <nautilus/abi.h>
#include <stdio.h>
#include <string.h>

static int failures;
#define CHECK(condition)                                                                            \
  do {                                                                                              \
    if (!(condition)) {                                                                             \
      fprintf(stderr, "line %d: %s (last error: %s)\n", __LINE__, #condition, nautilus_last_error()); \
      failures++;                                                                                   \
    }                                                                                               \
  } while (0)
#define CHECK_OK(call) CHECK((call) == NAUTILUS_OK)
#define CHECK_FAILS(call, status, text)                        \
  do {                                                         \
    CHECK((call) == (status));                                 \
    CHECK(strstr(nautilus_last_error(), (text)) != NULL);      \
  } while (0)

#endif
