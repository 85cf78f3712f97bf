// A filter in the order in which a plan reads it.
#pragma once

#include "treadle/kernels/OneDnn.h"
#include "treadle/tensor/Tensor.h"

#include <vector>

namespace treadle {

/// Memory of ours, which has been used before: fresh one would cost a page fault for each 4 KiB.
struct OwnMemory {
  explicit OwnMemory(const dnnl::memory::desc &desc)
      : storage(Tensor::make(DType::Float32,
                             {static_cast<int64_t>((desc.get_size() + 3) / sizeof(float))})
                    .value()),
        memory(desc, dnnlEngine(), storage.data<float>()) {}

  Tensor storage;
  dnnl::memory memory;
};

class OrderedFilter {
public:
  std::vector<float> factor;
  std::vector<OwnMemory> parts; // oneDNN's: one for each part of the plan, or one for all
  Tensor panels;                // our own, if there are no parts;
  int64_t panelsOfGroup = 0;    // and how many they are
};

} // namespace treadle
