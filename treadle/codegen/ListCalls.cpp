#include "treadle/codegen/ListCalls.h"
#include "treadle/kernels/ElementShapes.h"

#include <algorithm>
#include <cstring>

using namespace treadle;
using codegen::CallFrame;

namespace {

/// The limit is the same as in the list kernels.
constexpr int64_t maxLength = int64_t{1} << 28;

bool isOpen(const Tensor &list) { return list.dim(0) < 0; }
int64_t lengthOf(const Tensor &list) { return isOpen(list) ? -1 - list.dim(0) : list.dim(0); }
Dims rowDims(const Tensor &list) { return list.dims().subspan(1); }
void setLength(Tensor &list, int64_t length) { list.get()->dims[0] = length; }

size_t rowBytes(const Tensor &list) {
  return static_cast<size_t>(countElements(rowDims(list)).value_or(0)) * dtypeSize(list.dtype());
}

/// Number of rows for which memory is allocated.
int64_t capacityOf(const Tensor &list) {
  int64_t rowCount = countElements(rowDims(list)).value_or(0);
  return rowCount ? list.count() / rowCount : maxLength;
}

char *rowAt(Tensor &list, int64_t index) {
  return static_cast<char *>(list.raw()) + static_cast<size_t>(index) * rowBytes(list);
}

void clear(Tensor &list, int64_t begin, int64_t end) {
  if (begin < end)
    std::memset(rowAt(list, begin), 0, static_cast<size_t>(end - begin) * rowBytes(list));
}

/// Returns a list of this length with room for `capacity` rows and uninitialized elements; nullopt
/// if there is no memory.
Tensor newList(CallFrame *frame, DType dtype, Dims row, int64_t length, int64_t capacity,
               bool isCopy) {
  DimVector dims(1, capacity);
  for (int64_t dim : row)
    dims.push(dim);
  Expected<Tensor> made = Tensor::make(dtype, dims);
  if (!made)
    return {};
  if (frame->counters)
    codegen::countAllocation(*frame->counters, *made, isCopy);
  setLength(*made, length);
  return std::move(*made);
}

/// Returns a copy of a list, extended by zeros.
Tensor copyOf(CallFrame *frame, Tensor &list, int64_t length, int64_t capacity) {
  Tensor copy = newList(frame, list.dtype(), rowDims(list), length, capacity, /*isCopy=*/true);
  if (!copy)
    return copy;
  int64_t kept = std::min(length, lengthOf(list));
  if (size_t bytes = static_cast<size_t>(kept) * rowBytes(list))
    std::memcpy(copy.raw(), list.raw(), bytes);
  clear(copy, kept, length);
  return copy;
}

/// Returns the capacity of a list that grows: doubled, so that appending takes amortized constant
/// time.
int64_t grown(int64_t capacity, int64_t length) {
  constexpr int64_t least = 4;
  return length <= capacity ? capacity : std::max({least, length, 2 * capacity});
}

/// Returns the list with `length` rows, as the only owner.
Tensor ownWithLength(CallFrame *frame, Tensor list, int64_t length) {
  int64_t now = lengthOf(list);
  bool isOwn = list.isUnique();
  if (isOwn && length == now)
    return list;
  int64_t capacity = capacityOf(list);
  if (!isOwn || length > capacity)
    return copyOf(frame, list, length, length > now ? grown(now, length) : length);
  clear(list, now, length);
  setLength(list, length);
  return list;
}

} // namespace

extern "C" {

TensorBlock *treadle_list(CallFrame *frame, uint8_t isOpen, uint8_t dtype, int32_t rank,
                          const int64_t *dims) {
  Dims row(dims + 1, static_cast<size_t>(rank - 1));
  if (!isOpen) {
    Tensor list = newList(frame, static_cast<DType>(dtype), row, dims[0], dims[0], false);
    if (list)
      clear(list, 0, dims[0]);
    return list.take();
  }
  Expected<Tensor> list = Tensor::make(static_cast<DType>(dtype), DimVector(rank));
  if (!list)
    return nullptr;
  std::copy_n(dims, rank, list->get()->dims);
  setLength(*list, -1 - dims[0]);
  return list->take();
}

TensorBlock *treadle_list_own(CallFrame *frame, TensorBlock *block, int64_t index, uint8_t grows,
                              int32_t rowRank, const int64_t *rowDimsGiven) {
  Tensor list = Tensor::adopt(block);
  Dims row(rowDimsGiven, static_cast<size_t>(rowRank));
  int64_t now = lengthOf(list), length = std::max(now, index + 1);
  if (index < 0 || length > maxLength || (length > now && !grows))
    return nullptr;
  if (isOpen(list)) {
    Tensor made = newList(frame, list.dtype(), row, length, grown(now, length), false);
    if (made)
      clear(made, 0, length);
    return made.take();
  }
  if (!std::ranges::equal(row, rowDims(list)))
    return nullptr;
  return ownWithLength(frame, std::move(list), length).take();
}

void treadle_list_put(TensorBlock *list, int64_t index, const TensorBlock *row) {
  size_t bytes = static_cast<size_t>(row->count) * dtypeSize(row->dtype);
  if (bytes)
    std::memcpy(static_cast<char *>(list->data) + static_cast<size_t>(index) * bytes, row->data,
                bytes);
}

TensorBlock *treadle_list_row(CallFrame *frame, TensorBlock *block, int64_t index, uint8_t copies) {
  if (index < 0 || index >= block->dims[0])
    return nullptr;
  Tensor list = Tensor::adopt(block), row;
  if (!copies) {
    row = rowOf(list, index);
  } else if (Expected<Tensor> made = Tensor::make(list.dtype(), rowDims(list))) {
    row = std::move(*made);
    if (frame->counters && row.rank())
      codegen::countAllocation(*frame->counters, row, /*isCopy=*/true);
    if (size_t bytes = rowBytes(list))
      std::memcpy(row.raw(), rowAt(list, index), bytes);
  }
  list.take();
  return row.take();
}

TensorBlock *treadle_list_pop(CallFrame *frame, TensorBlock *block) {
  Tensor list = Tensor::adopt(block);
  if (list.dim(0) <= 0)
    return nullptr;
  return ownWithLength(frame, std::move(list), block->dims[0] - 1).take();
}

TensorBlock *treadle_list_stack(TensorBlock *block) {
  Tensor list = Tensor::adopt(block);
  if (isOpen(list))
    return nullptr;
  if (countElements(list.dims()) == list.count())
    return list.take();
  return list.view(0, list.dims()).take();
}

} // extern "C"
