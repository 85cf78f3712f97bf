// Ends a program with a word where the processor lacks instructions that it is compiled for, before
// anything uses them. Compiled for any processor, as LowestLevel.cpp is.
#include "treadle/runtime/LowestLevel.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void complain(const char *text) {
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, text, strlen(text));
}

// The first of all constructors of the program.
[[gnu::constructor(101)]] static void checkProcessor() {
  const char *problem = treadle::lowestLevelProblem();
  if (!problem)
    return;
  complain(program_invocation_short_name);
  complain(": ");
  complain(problem);
  complain("\n");
  _exit(1);
}
