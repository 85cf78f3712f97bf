#include "treadle/pjrt/Buffer.h"

#include "treadle/kernels/ElementCopy.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>

using namespace treadle;
using namespace treadle::pjrt;

// --- types -------------------------------------------------------------------------------------

namespace {
constexpr struct {
  PJRT_Buffer_Type type;
  DType dtype;
} types[] = {
    {PJRT_Buffer_Type_PRED, DType::Bool},
    {PJRT_Buffer_Type_S8, DType::Int8},
    {PJRT_Buffer_Type_S16, DType::Int16},
    {PJRT_Buffer_Type_S32, DType::Int32},
    {PJRT_Buffer_Type_S64, DType::Int64},
    {PJRT_Buffer_Type_U8, DType::UInt8},
    {PJRT_Buffer_Type_U16, DType::UInt16},
    {PJRT_Buffer_Type_U32, DType::UInt32},
    {PJRT_Buffer_Type_U64, DType::UInt64},
    {PJRT_Buffer_Type_F16, DType::Float16},
    {PJRT_Buffer_Type_F32, DType::Float32},
    {PJRT_Buffer_Type_F64, DType::Float64},
    {PJRT_Buffer_Type_BF16, DType::BFloat16},
    {PJRT_Buffer_Type_C64, DType::Complex64},
    {PJRT_Buffer_Type_C128, DType::Complex128},
    {PJRT_Buffer_Type_F8E5M2, DType::Float8E5M2},
    {PJRT_Buffer_Type_F8E4M3FN, DType::Float8E4M3FN},
    {PJRT_Buffer_Type_F8E4M3B11FNUZ, DType::Float8E4M3B11FNUZ},
    {PJRT_Buffer_Type_F8E5M2FNUZ, DType::Float8E5M2FNUZ},
    {PJRT_Buffer_Type_F8E4M3FNUZ, DType::Float8E4M3FNUZ},
    {PJRT_Buffer_Type_S4, DType::Int4},
    {PJRT_Buffer_Type_U4, DType::UInt4},
    {PJRT_Buffer_Type_S2, DType::Int2},
    {PJRT_Buffer_Type_U2, DType::UInt2},
};
} // namespace

Expected<DType> pjrt::dtypeOf(PJRT_Buffer_Type type) {
  for (const auto &row : types)
    if (row.type == type)
      return row.dtype;
  return Unexpected(
      unimplemented("arrays of PJRT's element type ", static_cast<int>(type), " aren't supported"));
}

PJRT_Buffer_Type pjrt::bufferType(DType dtype) {
  for (const auto &row : types)
    if (row.dtype == dtype)
      return row.type;
  return PJRT_Buffer_Type_INVALID;
}

// --- buffers -----------------------------------------------------------------------------------

size_t PJRT_Buffer::bytes() const {
  int64_t count = countElements(dims).value_or(0);
  return static_cast<size_t>(count) * dtypeSize(dtype);
}

Error PJRT_Buffer::deletedError() const {
  return invalidArgument("the array of ", dtypeName(dtype), dimsText(dims),
                         " was deleted, or donated to a program");
}

Expected<std::shared_ptr<Content>> PJRT_Buffer::use() const {
  std::lock_guard lock(mutex);
  if (!content)
    return Unexpected(deletedError());
  return content;
}

Expected<std::shared_ptr<Content>> PJRT_Buffer::donate() {
  std::lock_guard lock(mutex);
  if (!content)
    return Unexpected(deletedError());
  return std::exchange(content, nullptr);
}

void PJRT_Buffer::release() {
  std::lock_guard lock(mutex);
  content = nullptr;
}

bool PJRT_Buffer::isReleased() const {
  std::lock_guard lock(mutex);
  return !content;
}

void PJRT_Buffer::pin() {
  std::lock_guard lock(mutex);
  pins.push_back(content && content->isDone() ? content->value() : Tensor());
}

void PJRT_Buffer::unpin() {
  std::lock_guard lock(mutex);
  if (!pins.empty())
    pins.pop_back();
}

namespace {

// --- layouts -----------------------------------------------------------------------------------

/// Returns the strides, in bytes, of a dense row-major array.
std::vector<int64_t> denseStrides(Dims dims, DType dtype) {
  DimVector elements = rowMajorStrides(dims);
  std::vector<int64_t> strides(elements.begin(), elements.end());
  for (int64_t &stride : strides)
    stride *= static_cast<int64_t>(dtypeSize(dtype));
  return strides;
}

/// Copies elements; strides are in bytes, and needn't be multiples of the element size.
void copyBytes(Dims dims, DType dtype, void *to, std::vector<int64_t> toStrides, const void *from,
               std::vector<int64_t> fromStrides) {
  std::vector<int64_t> inner(dims.begin(), dims.end());
  inner.push_back(static_cast<int64_t>(dtypeSize(dtype)));
  toStrides.push_back(1);
  fromStrides.push_back(1);
  copyStrided(DType::UInt8, inner, to, toStrides, from, fromStrides);
}

/// Strides only matter in dimensions with two or more elements.
bool isDense(Dims dims, const std::vector<int64_t> &strides, DType dtype) {
  if (countElements(dims) == 0)
    return true;
  std::vector<int64_t> dense = denseStrides(dims, dtype);
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] > 1 && strides[i] != dense[i])
      return false;
  return true;
}

/// Returns the strides of a layout. Returns Unimplemented for tiles.
Expected<std::vector<int64_t>> stridesOf(const PJRT_Buffer_MemoryLayout *layout, Dims dims,
                                         DType dtype) {
  if (!layout)
    return denseStrides(dims, dtype);
  if (layout->type == PJRT_Buffer_MemoryLayout_Type_Strides) {
    const auto &strides = layout->strides;
    if (strides.num_byte_strides != dims.size())
      return Unexpected(invalidArgument("the layout has ", strides.num_byte_strides,
                                        " strides, expected ", dims.size()));
    return std::vector<int64_t>(strides.byte_strides,
                                strides.byte_strides + strides.num_byte_strides);
  }
  const auto &tiled = layout->tiled;
  if (tiled.num_tiles)
    return Unexpected(unimplemented("layouts with tiles aren't supported"));
  if (tiled.minor_to_major_size != dims.size())
    return Unexpected(invalidArgument("the layout has ", tiled.minor_to_major_size,
                                      " dimensions, expected ", dims.size()));
  std::vector<int64_t> strides(dims.size(), 0);
  int64_t stride = static_cast<int64_t>(dtypeSize(dtype));
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t dim = tiled.minor_to_major[i];
    if (dim < 0 || dim >= static_cast<int64_t>(dims.size()) || strides[dim])
      return Unexpected(invalidArgument("the layout isn't a permutation of the dimensions"));
    strides[dim] = stride;
    stride *= std::max<int64_t>(dims[dim], 1);
  }
  return strides;
}

// --- from the host -----------------------------------------------------------------------------

Expected<PJRT_Memory *> memoryOf(PJRT_Memory *memory, PJRT_Device *device) {
  if (memory)
    return memory;
  if (device)
    return device->memories.front();
  return Unexpected(invalidArgument("neither a device nor a memory is set"));
}

/// Copies the caller's array. The caller may request that its memory be used directly, and promise
/// not to change it; but JAX also makes that promise for numpy arrays that programs change later.
Expected<Tensor> fromHost(const PJRT_Client_BufferFromHostBuffer_Args &args, DType dtype,
                          Dims dims) {
  std::vector<int64_t> strides(args.byte_strides, args.byte_strides + args.num_byte_strides);
  if (strides.empty())
    strides = denseStrides(dims, dtype);
  if (strides.size() != dims.size())
    return Unexpected(
        invalidArgument("the array has ", strides.size(), " strides, expected ", dims.size()));
  Tensor made = TREADLE_TRY(Tensor::make(dtype, dims));
  if (made.bytes() && isDense(dims, strides, dtype))
    std::memcpy(made.raw(), args.data, made.bytes());
  else if (made.bytes())
    copyBytes(dims, dtype, made.raw(), denseStrides(dims, dtype), args.data, strides);
  return made;
}

Expected<void> makeFromHost(PJRT_Client_BufferFromHostBuffer_Args &args) {
  DType dtype = TREADLE_TRY(dtypeOf(args.type));
  PJRT_Memory *memory = TREADLE_TRY(memoryOf(args.memory, args.device));
  std::vector<int64_t> dims(args.dims, args.dims + args.num_dims);
  Tensor value = TREADLE_TRY(fromHost(args, dtype, dims));
  auto content = std::make_shared<Content>();
  content->hold(std::move(value));
  args.done_with_host_buffer = doneEvent();
  args.buffer = new PJRT_Buffer(memory, dtype, std::move(dims), std::move(content));
  return {};
}

Expected<void> makeView(PJRT_Client_CreateViewOfDeviceBuffer_Args &args) {
  DType dtype = TREADLE_TRY(dtypeOf(args.element_type));
  // NOLINTNEXTLINE(bugprone-sizeof-expression)
  PJRT_Memory *stated = hasField(args, args.memory) ? args.memory : nullptr;
  PJRT_Memory *memory = TREADLE_TRY(memoryOf(stated, args.device));
  std::vector<int64_t> dims(args.dims, args.dims + args.num_dims);
  if (!isDense(dims, TREADLE_TRY(stridesOf(args.layout, dims, dtype)), dtype))
    return Unexpected(unimplemented("views of memory that isn't row-major aren't supported"));
  auto release = [call = args.on_delete_callback, data = args.device_buffer_ptr,
                  context = args.on_delete_callback_arg] {
    if (call)
      call(data, context);
  };
  auto content = std::make_shared<Content>();
  content->hold(Tensor::external(dtype, dims, args.device_buffer_ptr, std::move(release)));
  args.buffer = new PJRT_Buffer(memory, dtype, std::move(dims), std::move(content));
  return {};
}

Expected<void> makeEmpty(PJRT_Client_CreateUninitializedBuffer_Args &args) {
  DType dtype = TREADLE_TRY(dtypeOf(args.shape_element_type));
  PJRT_Memory *memory = TREADLE_TRY(memoryOf(args.memory, args.device));
  std::vector<int64_t> dims(args.shape_dims, args.shape_dims + args.shape_num_dims);
  Tensor value = TREADLE_TRY(Tensor::make(dtype, dims));
  if (value.bytes())
    std::memset(value.raw(), 0, value.bytes());
  auto content = std::make_shared<Content>();
  content->hold(std::move(value));
  args.buffer = new PJRT_Buffer(memory, dtype, std::move(dims), std::move(content));
  return {};
}

Expected<void> makeFailed(PJRT_Client_CreateErrorBuffer_Args &args) {
  DType dtype = TREADLE_TRY(dtypeOf(args.shape_element_type));
  PJRT_Memory *memory = TREADLE_TRY(memoryOf(args.memory, nullptr));
  auto content = std::make_shared<Content>();
  content->fail({static_cast<Code>(args.error_code),
                 std::string(args.error_message, args.error_message_size)});
  args.buffer = new PJRT_Buffer(
      memory, dtype, {args.shape_dims, args.shape_dims + args.shape_num_dims}, std::move(content));
  return {};
}

// --- to the host -------------------------------------------------------------------------------

/// Calls `copy` with the elements once they are available, then completes the returned event.
PJRT_Event *copyWhenReady(const std::shared_ptr<Content> &content,
                          std::function<void(const Tensor &)> copy) {
  auto state = std::make_shared<Completion>();
  // The content outlives the callback, since it makes the call.
  content->whenDone([content = content.get(), state, copy = std::move(copy)](const Error *error) {
    if (error)
      return state->fail(*error);
    copy(content->value());
    state->succeed();
  });
  return new PJRT_Event{std::move(state)};
}

Expected<void> copyToHost(PJRT_Buffer_ToHostBuffer_Args &args) {
  const PJRT_Buffer &buffer = *args.src;
  size_t bytes = buffer.bytes();
  if (!args.dst) {
    args.dst_size = bytes;
    args.event = nullptr;
    return {};
  }
  if (args.dst_size < bytes)
    return Unexpected(
        invalidArgument("the buffer holds ", args.dst_size, " bytes, expected ", bytes));
  std::vector<int64_t> strides =
      TREADLE_TRY(stridesOf(args.host_layout, buffer.dims, buffer.dtype));
  auto content = TREADLE_TRY(buffer.use());
  args.event =
      copyWhenReady(content, [to = static_cast<char *>(args.dst), strides](const Tensor &value) {
        const char *from = static_cast<const char *>(value.raw());
        if (!value.bytes())
          return;
        if (isDense(value.dims(), strides, value.dtype()))
          std::memcpy(to, from, value.bytes());
        else
          copyBytes(value.dims(), value.dtype(), to, strides, from,
                    denseStrides(value.dims(), value.dtype()));
      });
  return {};
}

Expected<void> copyRaw(PJRT_Buffer_CopyRawToHost_Args &args) {
  auto bytes = static_cast<int64_t>(args.buffer->bytes());
  if (args.offset < 0 || args.transfer_size < 0 || args.offset > bytes ||
      args.transfer_size > bytes - args.offset)
    return Unexpected(invalidArgument("bytes ", args.offset, " to ", args.offset, " + ",
                                      args.transfer_size, " of ", bytes));
  auto content = TREADLE_TRY(args.buffer->use());
  args.event = copyWhenReady(content, [to = args.dst, offset = args.offset,
                                       size = args.transfer_size](const Tensor &value) {
    if (size)
      std::memcpy(to, static_cast<const char *>(value.raw()) + offset, static_cast<size_t>(size));
  });
  return {};
}

// --- copies between memories -------------------------------------------------------------------

/// All memories are host memory, so the copy shares the elements.
Expected<PJRT_Buffer *> copyTo(const PJRT_Buffer &buffer, PJRT_Memory *memory) {
  auto content = TREADLE_TRY(buffer.use());
  return new PJRT_Buffer(memory, buffer.dtype, buffer.dims, std::move(content));
}

Expected<void> copyToDevice(PJRT_Buffer_CopyToDevice_Args &args) {
  args.dst_buffer = TREADLE_TRY(copyTo(*args.buffer, args.dst_device->memories.front()));
  return {};
}

Expected<void> copyToMemory(PJRT_Buffer_CopyToMemory_Args &args) {
  args.dst_buffer = TREADLE_TRY(copyTo(*args.buffer, args.dst_memory));
  return {};
}

// --- properties --------------------------------------------------------------------------------

void destroy(PJRT_Buffer_Destroy_Args &args) { delete args.buffer; }

void elementType(PJRT_Buffer_ElementType_Args &args) { args.type = bufferType(args.buffer->dtype); }

void dimensions(PJRT_Buffer_Dimensions_Args &args) {
  args.dims = args.buffer->dims.data();
  args.num_dims = args.buffer->dims.size();
}

void unpaddedDimensions(PJRT_Buffer_UnpaddedDimensions_Args &args) {
  args.unpadded_dims = args.buffer->dims.data();
  args.num_dims = args.buffer->dims.size();
}

void dynamicDimensions(PJRT_Buffer_DynamicDimensionIndices_Args &args) {
  args.dynamic_dim_indices = nullptr;
  args.num_dynamic_dims = 0;
}

/// Returns the dimensions from minor to major; for row-major order these are the last entries of a
/// static array.
std::span<const int64_t> minorToMajor(size_t rank) {
  constexpr size_t maxDims = 256;
  static const auto all = [] {
    std::array<int64_t, maxDims> numbers;
    std::iota(numbers.rbegin(), numbers.rend(), 0);
    return numbers;
  }();
  return std::span(all).last(std::min(rank, maxDims));
}

void layout(PJRT_Buffer_GetMemoryLayout_Args &args) {
  std::span<const int64_t> order = minorToMajor(args.buffer->dims.size());
  args.layout = {};
  args.layout.struct_size = sizeof(args.layout);
  args.layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  args.layout.tiled.struct_size = sizeof(args.layout.tiled);
  args.layout.tiled.minor_to_major = order.data();
  args.layout.tiled.minor_to_major_size = order.size();
}

void size(PJRT_Buffer_OnDeviceSizeInBytes_Args &args) {
  args.on_device_size_in_bytes = args.buffer->bytes();
}

void device(PJRT_Buffer_Device_Args &args) { args.device = args.buffer->device(); }

void memory(PJRT_Buffer_Memory_Args &args) { args.memory = args.buffer->memory; }

void deleteBuffer(PJRT_Buffer_Delete_Args &args) { args.buffer->release(); }

void isDeleted(PJRT_Buffer_IsDeleted_Args &args) { args.is_deleted = args.buffer->isReleased(); }

void isOnCpu(PJRT_Buffer_IsOnCpu_Args &args) { args.is_on_cpu = true; }

Expected<void> readyEvent(PJRT_Buffer_ReadyEvent_Args &args) {
  auto content = TREADLE_TRY(args.buffer->use());
  args.event = new PJRT_Event{std::move(content)};
  return {};
}

// --- pointers ----------------------------------------------------------------------------------

/// Waits for the elements.
Expected<void *> pointer(const PJRT_Buffer &buffer) {
  auto content = TREADLE_TRY(buffer.use());
  if (const Error *error = content->wait())
    return Unexpected(*error);
  return const_cast<void *>(content->value().raw());
}

Expected<void> unsafePointer(PJRT_Buffer_UnsafePointer_Args &args) {
  args.buffer_pointer = reinterpret_cast<uintptr_t>(TREADLE_TRY(pointer(*args.buffer)));
  return {};
}

Expected<void> dataPointer(PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args &args) {
  args.device_memory_ptr = TREADLE_TRY(pointer(*args.buffer));
  return {};
}

Expected<void> pin(PJRT_Buffer_IncreaseExternalReferenceCount_Args &args) {
  TREADLE_TRY(pointer(*args.buffer));
  args.buffer->pin();
  return {};
}

void unpin(PJRT_Buffer_DecreaseExternalReferenceCount_Args &args) { args.buffer->unpin(); }

} // namespace

void pjrt::addBufferFunctions(PJRT_Api &api) {
  TREADLE_PJRT_SET(api, PJRT_Client_BufferFromHostBuffer, makeFromHost);
  TREADLE_PJRT_SET(api, PJRT_Client_CreateViewOfDeviceBuffer, makeView);
  TREADLE_PJRT_SET(api, PJRT_Client_CreateUninitializedBuffer, makeEmpty);
  TREADLE_PJRT_SET(api, PJRT_Client_CreateErrorBuffer, makeFailed);
  TREADLE_PJRT_SET(api, PJRT_Buffer_ToHostBuffer, copyToHost);
  TREADLE_PJRT_SET(api, PJRT_Buffer_CopyRawToHost, copyRaw);
  TREADLE_PJRT_SET(api, PJRT_Buffer_CopyToDevice, copyToDevice);
  TREADLE_PJRT_SET(api, PJRT_Buffer_CopyToMemory, copyToMemory);
  TREADLE_PJRT_SET(api, PJRT_Buffer_Destroy, destroy);
  TREADLE_PJRT_SET(api, PJRT_Buffer_ElementType, elementType);
  TREADLE_PJRT_SET(api, PJRT_Buffer_Dimensions, dimensions);
  TREADLE_PJRT_SET(api, PJRT_Buffer_UnpaddedDimensions, unpaddedDimensions);
  TREADLE_PJRT_SET(api, PJRT_Buffer_DynamicDimensionIndices, dynamicDimensions);
  TREADLE_PJRT_SET(api, PJRT_Buffer_GetMemoryLayout, layout);
  TREADLE_PJRT_SET(api, PJRT_Buffer_OnDeviceSizeInBytes, size);
  TREADLE_PJRT_SET(api, PJRT_Buffer_Device, device);
  TREADLE_PJRT_SET(api, PJRT_Buffer_Memory, memory);
  TREADLE_PJRT_SET(api, PJRT_Buffer_Delete, deleteBuffer);
  TREADLE_PJRT_SET(api, PJRT_Buffer_IsDeleted, isDeleted);
  TREADLE_PJRT_SET(api, PJRT_Buffer_IsOnCpu, isOnCpu);
  TREADLE_PJRT_SET(api, PJRT_Buffer_ReadyEvent, readyEvent);
  TREADLE_PJRT_SET(api, PJRT_Buffer_UnsafePointer, unsafePointer);
  TREADLE_PJRT_SET(api, PJRT_Buffer_OpaqueDeviceMemoryDataPointer, dataPointer);
  TREADLE_PJRT_SET(api, PJRT_Buffer_IncreaseExternalReferenceCount, pin);
  TREADLE_PJRT_SET(api, PJRT_Buffer_DecreaseExternalReferenceCount, unpin);
}
