// Buffers: the arguments and results of programs.
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

  /// Returns the elements. Returns InvalidArgument if the buffer was deleted or donated.
  treadle::Expected<std::shared_ptr<treadle::pjrt::Content>> use() const;
  /// Donates the elements to a program, which may overwrite them unless they have other users. The
  /// buffer is deleted.
  treadle::Expected<std::shared_ptr<treadle::pjrt::Content>> donate();
  void release();
  bool isReleased() const;

  /// Pins the elements: while external pointers to them exist, they are neither changed nor moved.
  void pin();
  void unpin();

private:
  treadle::Error deletedError() const;

  mutable std::mutex mutex;
  std::shared_ptr<treadle::pjrt::Content> content; // null after the buffer is deleted
  std::vector<treadle::Tensor> pins;
};

namespace treadle::pjrt {

/// Returns Unimplemented for types that tensors can't have.
Expected<DType> dtypeOf(PJRT_Buffer_Type type);
PJRT_Buffer_Type bufferType(DType dtype);

void addBufferFunctions(PJRT_Api &api);

} // namespace treadle::pjrt
