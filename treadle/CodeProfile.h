// Counters of compiled code.
#pragma once

#include "treadle/tensor/Error.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace treadle {

/// The work of a session's machine code in all runs so far, by the loops of the graph. It is
/// counted for each basic block of the optimized code, so operations that the compiler removed,
/// hoisted or combined are not included. Counting slows the code down and has no other effect.
struct CodeProfile {
  struct Work {
    /// Results of instructions that compute, one for each vector element: of all dtypes, including
    /// conversions, comparisons and selects; excluding addresses and the induction variables of
    /// pointer loops.
    int64_t operations = 0;
    int64_t inVectors = 0; // those computed by vector instructions
    int64_t flops = 0;     // those on floats; a fused multiply-add counts as two
    /// Memory accesses of the code itself, outside of its stack.
    int64_t bytesRead = 0, bytesWritten = 0;
    int64_t allocations = 0; // tensors created
    /// Calls that the compiler can't see into, by callee: `kernel of 'dot' (MatMul)`.
    std::map<std::string, int64_t> calls;

    Work &operator+=(const Work &other);
  };
  struct Node {
    std::string name, op, where; // `where`: the function that contains it
    Work work;
  };
  struct Loop {
    std::string name, op;
    int outer = -1; // index of the enclosing loop
    int64_t iterations = 0;
    Work work;               // including nested loops
    std::vector<Node> nodes; // excluding nested loops; most operations and bytes first
  };
  /// A variant compiled for one class of shapes.
  struct Cluster {
    std::string name;        // of the node that represents it, as in Profile
    std::vector<Loop> loops; // outer loops before nested ones
    Work outside;            // executions of loops
  };
  std::vector<Cluster> clusters;
};

} // namespace treadle
