// What compiled code does, counted.
#pragma once

#include "treadle/tensor/Error.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace treadle {

/// What a session's machine code did in all runs so far, by the loops of the graph: counted block
/// by block in the code as the compiler left it, so that what it removed, moved out of a loop or
/// joined is not there. Counting slows the code down; it changes nothing else of it.
struct CodeProfile {
  struct Work {
    /// Results of instructions that compute, one for each element of a vector: of all dtypes, with
    /// conversions, comparisons and choices, without addresses and counting of loops over elements
    /// that the compiler made of pointers.
    int64_t operations = 0;
    int64_t inVectors = 0; // those among them that an instruction computed together with others
    int64_t flops = 0;     // those on floats; a fused product and sum are two
    int64_t bytesRead = 0, bytesWritten = 0; // by code itself, in memory other than its stack
    int64_t allocations = 0;                 // tensors made
    /// Calls that the compiler couldn't look into, by what is called: `kernel of 'dot' (MatMul)`.
    std::map<std::string, int64_t> calls;

    Work &operator+=(const Work &other);
  };
  struct Node {
    std::string name, op, where; // `where`: the function that it stands in
    Work work;
  };
  struct Loop {
    std::string name, op;
    int outer = -1; // the loop around it, an index
    int64_t iterations = 0;
    Work work;               // with that of the loops inside
    std::vector<Node> nodes; // its own, most operations and bytes first
  };
  /// Compiled for one class of shapes.
  struct Cluster {
    std::string name;        // of the node that stands for it, as in Profile
    std::vector<Loop> loops; // outer ones before those inside
    Work outside;            // of loops
  };
  std::vector<Cluster> clusters;
};

} // namespace treadle
