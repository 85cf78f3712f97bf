/* That the header is C, and that C counts its sizes as C++ does. */
#include "treadle/c.h"

size_t treadle_test_options_size(void);
size_t treadle_test_options_size(void) {
  treadle_options options = TREADLE_OPTIONS;
  return options.size;
}
