#include "treadle/testing/SampleArtifact.h"

using namespace treadle;
using namespace treadle::bytecode;

const char *const bytecode::sampleText = R"(module @sample {
func.func public @main(%x: tensor<4xf32> loc("x")) -> tensor<f32> {
  %c = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %y = stablehlo.add %x, %c : tensor<4xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = "stablehlo.reduce"(%y, %z) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}
})";

namespace {

/// Writes the sample.
class Sample {
public:
  explicit Sample(uint64_t version) : file(version) {}
  std::string write();

private:
  enum Parts : uint8_t { Results = 2, Operands = 4, Regions = 16 };
  using Fields = std::vector<std::pair<std::string, uint64_t>>;

  uint64_t vhlo(const std::string &bytes) { return file.addAttribute("vhlo", bytes); }
  uint64_t text(const std::string &value) { return vhlo(varints({14, file.addString(value)})); }
  uint64_t elements(uint64_t type, const std::string &bytes) {
    return vhlo(varints({15, type, bytes.size()}) + bytes);
  }
  std::string op(const std::string &name, const Fields &fields,
                 const std::vector<uint64_t> &results, const std::vector<uint64_t> &operands,
                 const std::string &regions = "");
  std::string argument(uint64_t type, uint64_t location) const;
  std::string arguments(const std::vector<std::string> &all) const;
  std::string reduceBody();
  std::string mainBody();

  Artifact file;
  uint64_t unknown = file.addAttribute("builtin", varint(15));
  uint64_t named = file.addAttribute(
      "builtin",
      varints({14, file.addAttribute("builtin", varints({2, file.addString("x")})), unknown}));
  uint64_t real = file.addType("vhlo", varint(4)), whole = file.addType("vhlo", varint(14));
  uint64_t scalar = file.addType("vhlo", varints({20, 0, real}));
  uint64_t vector = file.addType("vhlo", varints({20, 1, 8, real})); // 4 as a signed varint
  uint64_t index = file.addType("vhlo", varints({20, 1, 2, whole}));
};

} // namespace

std::string Sample::op(const std::string &name, const Fields &fields,
                       const std::vector<uint64_t> &results, const std::vector<uint64_t> &operands,
                       const std::string &regions) {
  uint8_t parts = (results.empty() ? 0 : Results) | (operands.empty() ? 0 : Operands) |
                  (regions.empty() ? 0 : Regions);
  std::string body = varint(unknown);
  if (!fields.empty()) {
    auto [part, bytes] = file.fields(fields);
    parts |= part;
    body += bytes;
  }
  for (const std::vector<uint64_t> *all : {&results, &operands})
    if (!all->empty()) {
      body += varint(all->size());
      for (uint64_t item : *all)
        body += varint(item);
    }
  return varint(file.addOp("vhlo", name)) + static_cast<char>(parts) + body + regions;
}

std::string Sample::argument(uint64_t type, uint64_t location) const {
  return file.version >= ShortArguments ? varints({type << 1 | 1, location})
                                        : varints({type, location});
}

std::string Sample::arguments(const std::vector<std::string> &all) const {
  std::string bytes = varint(all.size());
  for (const std::string &one : all)
    bytes += one;
  return file.version >= UseOrders ? bytes + '\0' : bytes;
}

/// Value numbers continue from those of the function: x, c, y, z, r are 0 to 4, then a, b, s.
std::string Sample::reduceBody() {
  return varints({1 << 1, 1, 3, 2 << 1 | 1}) + // one region, one block, three values, two ops
         arguments({argument(scalar, unknown), argument(scalar, unknown)}) +
         op("add_v1", {}, {scalar}, {5, 6}) + op("return_v1", {}, {}, {7});
}

std::string Sample::mainBody() {
  constexpr char one[] = "\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40";
  uint64_t values = elements(vector, std::string(one, 16));
  uint64_t zero = elements(scalar, std::string(4, '\0'));
  uint64_t dimensions = elements(index, std::string(8, '\0'));
  return varints({1 << 1, 1, 5, 5 << 1 | 1}) + arguments({argument(vector, named)}) +
         op("constant_v1", {{"value", values}}, {vector}, {}) + op("add_v1", {}, {vector}, {0, 1}) +
         op("constant_v1", {{"value", zero}}, {scalar}, {}) +
         op("reduce_v1", {{"dimensions", dimensions}}, {scalar}, {2, 3}, reduceBody()) +
         op("return_v1", {}, {}, {4});
}

std::string Sample::write() {
  uint64_t type = file.addType("vhlo", varints({8, 1, vector, 1, scalar}));
  uint64_t none = vhlo(varints({1, 0}));
  uint64_t typeAttribute = vhlo(varints({17, type}));
  uint64_t name = text("main"), visibility = text("public");
  std::string function = op("func_v1",
                            {{"arg_attrs", none},
                             {"function_type", typeAttribute},
                             {"res_attrs", none},
                             {"sym_name", name},
                             {"sym_visibility", visibility}},
                            {}, {}, mainBody());
  uint64_t title = file.addAttribute("builtin", varints({2, file.addString("sample")}));
  bool hasFields = file.version >= NativeProperties;
  auto [part, bytes] = hasFields
                           ? file.fields({{"sym_name", title << 1 | 1}, {"sym_visibility", 0}})
                           : file.fields({{"sym_name", title}});
  std::string body = varints({1, 0, 1 << 1}) + function; // one block, no values, one op
  std::string module = varint(file.addOp("builtin", "module")) + static_cast<char>(part | Regions) +
                       varint(unknown) + bytes + varint(1 << 1 | 1);
  if (file.version >= Sections)
    module += static_cast<char>(Section::Operations) + varint(body.size());
  file.ir = varint(1 << 1) + module + body;
  return file.bytes();
}

std::string bytecode::sampleArtifact(uint64_t version) { return Sample(version).write(); }
