// Arrays that programs take and give.
#pragma once

#include "treadle/pjrt/Client.h"

#include <atomic>

struct PJRT_Buffer {
  PJRT_Buffer(PJRT_Memory *memory, treadle::DType dtype, std::vector<int64_t> dims,
              std::shared_ptr<treadle::pjrt::Content> content)
      : memory(memory), dtype(dtype), dims(std::move(dims)), content(std::move(content)) {}

  PJRT_Memory *memory;
  const treadle::DType dtype;
  const std::vector<int64_t> dims;

  PJRT_Device *device() const { return memory->device; }
  size_t bytes() const;

  /// The elements. InvalidArgument if the buffer was deleted or donated.
  treadle::Expected<std::shared_ptr<treadle::pjrt::Content>> use() const;
  /// The elements, for a program that may overwrite them unless others use them too; the buffer is
  /// gone then.
  treadle::Expected<std::shared_ptr<treadle::pjrt::Content>> donate();
  void release();
  bool isReleased() const;

  /// While somebody has a pointer to the elements, they stay what and where they are.
  void pin();
  void unpin();

private:
  treadle::Error gone() const;

  mutable std::mutex mutex;
  std::shared_ptr<treadle::pjrt::Content> content; // null: released
  std::vector<treadle::Tensor> pins;
};

namespace treadle::pjrt {

/// Unimplemented for a type that no tensor here has.
Expected<DType> dtypeOf(PJRT_Buffer_Type type);
PJRT_Buffer_Type bufferType(DType dtype);

void addBufferFunctions(PJRT_Api &api);

} // namespace treadle::pjrt
