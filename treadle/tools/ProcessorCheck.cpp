// Ends the program with a message, before anything else runs, if the processor lacks instructions
// that the program is compiled for. Compiled for any processor, like LowestLevel.cpp.
#include "treadle/runtime/BaselineCheck.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void printError(const char *text) {
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, text, strlen(text));
}

// Runs before all other constructors of the program.
[[gnu::constructor(101)]] static void checkProcessor() {
  const char *problem = treadle::baselineProblem();
  if (!problem)
    return;
  printError(program_invocation_short_name);
  printError(": ");
  printError(problem);
  printError("\n");
  _exit(1);
}
