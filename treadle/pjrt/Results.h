// Return values of functions of PJRT's C interface: null, or an error that the caller frees.
#pragma once

#include "treadle/pjrt/Abi.h"
#include "treadle/tensor/Error.h"

#include <exception>
#include <new>
#include <type_traits>

struct PJRT_Error {
  treadle::Error error;
};

namespace treadle::pjrt {

inline PJRT_Error *given(Error error) { return new PJRT_Error{std::move(error)}; }

/// Makes a function of the table from one that returns an Expected or void. Exceptions don't
/// propagate to the caller.
template <typename Args, auto function> PJRT_Error *entry(Args *args) {
  try {
    if constexpr (std::is_void_v<decltype(function(*args))>)
      return function(*args), nullptr;
    else if (Expected<void> done = function(*args); !done)
      return given(std::move(done.error()));
    return nullptr;
  } catch (const std::bad_alloc &) {
    return given(resourceExhausted("out of memory"));
  } catch (const std::exception &thrown) {
    return given(internal(thrown.what()));
  }
}

/// Returns a text to the caller; the text must outlive the call.
inline void returnText(std::string_view text, const char *&data, size_t &size) {
  data = text.data();
  size = text.size();
}

/// Whether the caller's version of the arguments has this field: older ones are shorter.
template <typename Args, typename Field> bool hasField(const Args &args, const Field &field) {
  auto end = reinterpret_cast<const char *>(&field + 1);
  return reinterpret_cast<const char *>(&args) + args.struct_size >= end;
}

} // namespace treadle::pjrt

/// Sets the function `name` of a table to `function`, which takes the same arguments.
#define TREADLE_PJRT_SET(api, name, function)                                                      \
  (api).name = &::treadle::pjrt::entry<name##_Args, &(function)>
