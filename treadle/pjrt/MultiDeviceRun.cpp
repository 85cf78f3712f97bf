#include "treadle/pjrt/MultiDeviceRun.h"

#include "treadle/kernels/ElementCopy.h"
#include "treadle/session/SharedSession.h"

namespace treadle::pjrt {

/// Returns the position of the first element of a device's shard in the whole array.
static int64_t shardOffset(const ProgramValue &value, size_t device, const DimVector &strides) {
  int64_t place = 0;
  for (size_t dim = 0; dim < value.dims.size(); ++dim)
    place += value.sharding.places[device][dim] * value.shardDims[dim] * strides[dim];
  return place;
}

static Expected<Tensor> shardOf(const Tensor &whole, const ProgramValue &value, size_t device) {
  if (value.sharding.isReplicated())
    return whole;
  Tensor part = TREADLE_TRY(Tensor::make(value.dtype, value.shardDims));
  DimVector strides = rowMajorStrides(value.dims);
  copyStrided(value.dtype, value.shardDims, part.raw(), rowMajorStrides(value.shardDims),
              elementAt(value.dtype, whole.raw(), shardOffset(value, device, strides)), strides);
  return part;
}

static void copyShard(Tensor &whole, const Tensor &part, const ProgramValue &value, size_t device) {
  DimVector strides = rowMajorStrides(value.dims);
  copyStrided(value.dtype, value.shardDims,
              elementAt(value.dtype, whole.raw(), shardOffset(value, device, strides)), strides,
              part.raw(), rowMajorStrides(value.shardDims));
}

Expected<std::vector<Tensor>> MultiDeviceRun::assemble() const {
  std::vector<Tensor> made;
  for (const auto &parts : arguments)
    for (const std::shared_ptr<Content> &part : parts)
      if (const Error *error = part->wait())
        return Unexpected(*error);
  const std::vector<ProgramValue> &values = compiled->program.arguments;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].isToken) {
      made.emplace_back(); // isn't fed
    } else if (values[i].sharding.isReplicated()) {
      made.push_back(arguments.front()[i]->value());
    } else {
      made.push_back(TREADLE_TRY(Tensor::make(values[i].dtype, values[i].dims)));
      for (size_t place = 0; place < arguments.size(); ++place)
        copyShard(made.back(), arguments[place][i]->value(), values[i], place);
    }
  }
  return made;
}

Expected<std::vector<Tensor>> MultiDeviceRun::compute(size_t place) {
  Session::Feeds feeds;
  const ImportedProgram &program = compiled->program;
  for (size_t i = 0; i < program.arguments.size(); ++i)
    if (!program.arguments[i].isToken)
      feeds.emplace_back(program.arguments[i].name, (*wholeArrays)[i]);
  return runTaking((*sessions)[place], program.fetches, std::move(feeds));
}

Expected<std::vector<Tensor>> MultiDeviceRun::run(size_t place) {
  std::call_once(isAssembled, [&] { wholeArrays = assemble(); });
  if (!wholeArrays)
    return Unexpected(wholeArrays.error());
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
    parts.push_back(TREADLE_TRY(shardOf((*own)[i], values[i], place)));
  return parts;
}

} // namespace treadle::pjrt
