// Attributes of a node as a kernel sees them when it is bound: a flat, sorted list of names and
// typed values. Strings are views into the buffer that the graph was read from, which must outlive
// the attributes.
#pragma once

#include "treadle/tensor/DType.h"
#include "treadle/tensor/Error.h"
#include "treadle/tensor/Tensor.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace treadle {

/// A shape that may be partially unknown: of unknown rank, or with single dimensions of -1.
struct PartialShape {
  bool hasRank = false;
  std::vector<int64_t> dims;

  static PartialShape ranked(std::vector<int64_t> dims) { return {true, std::move(dims)}; }
  bool isFullyKnown() const;
  bool accepts(Dims dims) const;
  std::string text() const; // `[2,?]`, or `<unknown rank>`
};

class AttrMap;

/// A reference to a function: its name, and the attributes that it is instantiated with.
struct FunctionRef {
  std::string name;
  std::shared_ptr<const AttrMap> attrs; // null if there are none

  bool operator==(const FunctionRef &other) const;
};

/// A dtype in an attribute; `isRef` for reference dtypes.
struct TypeAttr {
  DType dtype = DType::Invalid;
  bool isRef = false;
};

using AttrValue =
    std::variant<std::monostate, std::string, int64_t, float, bool, TypeAttr, PartialShape, Tensor,
                 FunctionRef, std::vector<std::string>, std::vector<int64_t>, std::vector<float>,
                 std::vector<bool>, std::vector<TypeAttr>, std::vector<PartialShape>,
                 std::vector<Tensor>, std::vector<FunctionRef>>;

/// The attributes of one node.
class AttrMap {
public:
  void set(std::string_view name, AttrValue value);
  const AttrValue *find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name); }
  size_t size() const { return entries.size(); }
  bool isEmpty() const { return entries.empty(); }
  auto begin() const { return entries.begin(); }
  auto end() const { return entries.end(); }

  /// Returns the attribute as a T (one of AttrValue's alternatives; DType is accepted for
  /// TypeAttr). Returns InvalidArgument if it is missing or of another type. An empty list converts
  /// to any list type.
  template <typename T> Expected<T> get(std::string_view name) const;
  /// Returns the attribute, or `otherwise` if there is none of that type.
  template <typename T> T getOr(std::string_view name, T otherwise) const {
    if (!has(name))
      return otherwise; // without the text of an error
    Expected<T> value = get<T>(name);
    return value ? std::move(*value) : otherwise;
  }

private:
  std::vector<std::pair<std::string, AttrValue>> entries; // few, so searched linearly
};

namespace detail {
template <typename T> constexpr std::string_view attrKindName() {
  if constexpr (std::is_same_v<T, std::string>)
    return "a string";
  else if constexpr (std::is_same_v<T, int64_t>)
    return "an int";
  else if constexpr (std::is_same_v<T, float>)
    return "a float";
  else if constexpr (std::is_same_v<T, bool>)
    return "a bool";
  else if constexpr (std::is_same_v<T, TypeAttr>)
    return "a type";
  else if constexpr (std::is_same_v<T, PartialShape>)
    return "a shape";
  else if constexpr (std::is_same_v<T, Tensor>)
    return "a tensor";
  else if constexpr (std::is_same_v<T, FunctionRef>)
    return "a func";
  else
    return "a list";
}
template <typename T> struct IsVector : std::false_type {};
template <typename T> struct IsVector<std::vector<T>> : std::true_type {};
} // namespace detail

template <typename T> Expected<T> AttrMap::get(std::string_view name) const {
  if constexpr (std::is_same_v<T, DType>) {
    return get<TypeAttr>(name).map([](TypeAttr t) { return t.dtype; });
  } else if constexpr (std::is_same_v<T, std::vector<DType>>) {
    return get<std::vector<TypeAttr>>(name).map([](const std::vector<TypeAttr> &types) {
      std::vector<DType> out;
      out.reserve(types.size());
      for (TypeAttr t : types)
        out.push_back(t.dtype);
      return out;
    });
  } else {
    const AttrValue *value = find(name);
    if (!value)
      return Unexpected(invalidArgument("attribute '", name, "' is missing; expected ",
                                        detail::attrKindName<T>()));
    if (const T *typed = std::get_if<T>(value))
      return *typed;
    if constexpr (detail::IsVector<T>::value) {
      bool isEmptyList = std::visit(
          [](const auto &v) {
            if constexpr (detail::IsVector<std::decay_t<decltype(v)>>::value)
              return v.empty();
            return false;
          },
          *value);
      if (isEmptyList)
        return T{};
    }
    return Unexpected(invalidArgument("attribute '", name, "' has another kind; expected ",
                                      detail::attrKindName<T>()));
  }
}

} // namespace treadle
