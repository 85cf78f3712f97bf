// The work of the program treadle-rewriter.
#pragma once

namespace treadle::tensorflow {

/// Reads graphs from the standard input, runs passes over each, and writes them to the standard
/// output, until the input ends. Whatever else is printed goes to the standard error.
void rewriteInput();

} // namespace treadle::tensorflow
