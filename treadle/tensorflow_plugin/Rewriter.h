// The implementation of the program treadle-rewriter.
#pragma once

namespace treadle::tensorflow {

/// Reads graphs from standard input, runs passes over each, and writes them to standard output
/// until the input ends. All other output goes to standard error.
void rewriteInput();

} // namespace treadle::tensorflow
