// Whether a processor has the instructions that everything is compiled for.
#pragma once

namespace treadle {

/// Null if it has; else what to say to the user. May be called before constructors ran.
const char *lowestLevelProblem();

} // namespace treadle
