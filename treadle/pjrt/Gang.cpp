#include "treadle/pjrt/Gang.h"

#include "treadle/kernels/ElementCopy.h"
#include "treadle/session/SharedSession.h"

namespace treadle::pjrt {

/// Returns the position of the first element of a device's shard in the whole array.
static int64_t placeOf(const ProgramValue &value, size_t device, const DimVector &strides) {
  int64_t place = 0;
  for (size_t dim = 0; dim < value.dims.size(); ++dim)
    place += value.sharding.places[device][dim] * value.partDims[dim] * strides[dim];
  return place;
}

static Expected<Tensor> partOf(const Tensor &whole, const ProgramValue &value, size_t device) {
  if (value.sharding.isReplicated())
    return whole;
  Tensor part = TREADLE_TRY(Tensor::make(value.dtype, value.partDims));
  DimVector strides = rowMajorStrides(value.dims);
  copyStrided(value.dtype, value.partDims, part.raw(), rowMajorStrides(value.partDims),
              elementAt(value.dtype, whole.raw(), placeOf(value, device, strides)), strides);
  return part;
}

static void addPart(Tensor &whole, const Tensor &part, const ProgramValue &value, size_t device) {
  DimVector strides = rowMajorStrides(value.dims);
  copyStrided(value.dtype, value.partDims,
              elementAt(value.dtype, whole.raw(), placeOf(value, device, strides)), strides,
              part.raw(), rowMajorStrides(value.partDims));
}

Expected<std::vector<Tensor>> Gang::assemble() const {
  std::vector<Tensor> made;
  for (const auto &parts : arguments)
    for (const std::shared_ptr<Content> &part : parts)
      if (const Error *error = part->wait())
        return Unexpected(*error);
  const std::vector<ProgramValue> &values = compiled->program.arguments;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].isToken) {
      made.push_back(Tensor::scalar(DType::Bool, true));
    } else if (values[i].sharding.isReplicated()) {
      made.push_back(arguments.front()[i]->value());
    } else {
      made.push_back(TREADLE_TRY(Tensor::make(values[i].dtype, values[i].dims)));
      for (size_t place = 0; place < arguments.size(); ++place)
        addPart(made.back(), arguments[place][i]->value(), values[i], place);
    }
  }
  return made;
}

Expected<std::vector<Tensor>> Gang::compute(size_t place) {
  Session::Feeds feeds;
  const Program &program = compiled->program;
  for (size_t i = 0; i < program.arguments.size(); ++i)
    feeds.emplace_back(program.arguments[i].name, (*wholes)[i]);
  return runTaking((*sessions)[place], program.fetches, std::move(feeds));
}

Expected<std::vector<Tensor>> Gang::run(size_t place) {
  std::call_once(isAssembled, [&] { wholes = assemble(); });
  if (!wholes)
    return Unexpected(wholes.error());
  bool isShared = sessions->size() == 1;
  if (isShared)
    std::call_once(isComputed, [&] { results = compute(0); });
  Expected<std::vector<Tensor>> own = isShared ? results : compute(place);
  if (!own) {
    compiled->abandon(sessions);
    return own;
  }
  const std::vector<ProgramValue> &values = compiled->program.results;
  std::vector<Tensor> parts;
  parts.reserve(values.size());
  for (size_t i = 0; i < values.size(); ++i)
    parts.push_back(TREADLE_TRY(partOf((*own)[i], values[i], place)));
  return parts;
}

} // namespace treadle::pjrt
