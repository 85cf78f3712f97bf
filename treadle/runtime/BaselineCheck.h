// Checks that the processor has the instructions that everything is compiled for.
#pragma once

namespace treadle {

/// Returns null if the processor has them, otherwise a message for the user. May be called before
/// static constructors run.
const char *baselineProblem();

} // namespace treadle
