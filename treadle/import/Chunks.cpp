// The last record of the file describes the others: each is a message to merge, or the bytes of a
// field.
#include "treadle/import/Chunks.h"

#include "treadle/import/TextForm.h"
#include "treadle/proto/chunk.pb.h"
#include "treadle/proto/node_def.pb.h"
#include "treadle/riegeli/RecordReader.h"

#include <algorithm>
#include <google/protobuf/stubs/logging.h>

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

namespace treadle::graphdef {
namespace {

using FieldTag = google::protobuf::RepeatedPtrField<pb::FieldIndex>;

std::string nameOf(const FieldDescriptor *field) { return std::string(field->full_name()); }

/// Fields are merged from the outside in, and elements of a list in order.
bool comesBefore(const pb::ChunkedField *a, const pb::ChunkedField *b) {
  int depth = std::min(a->field_tag_size(), b->field_tag_size());
  for (int i = 0; i < depth; ++i) {
    const pb::FieldIndex &left = a->field_tag(i), &right = b->field_tag(i);
    if (left.kind_case() != right.kind_case())
      return left.kind_case() < right.kind_case();
    if (left.field() != right.field())
      return left.field() < right.field();
    if (left.index() != right.index())
      return left.index() < right.index();
    if (left.map_key().s() != right.map_key().s())
      return left.map_key().s() < right.map_key().s();
  }
  if (a->field_tag_size() != b->field_tag_size())
    return a->field_tag_size() < b->field_tag_size();
  return a->message().chunk_index() < b->message().chunk_index();
}

class Merger {
public:
  Merger(riegeli::RecordReader &reader, const pb::ChunkMetadata &metadata)
      : reader(reader), metadata(metadata), isMerged(static_cast<size_t>(metadata.chunks_size())),
        missing(static_cast<uint64_t>(metadata.chunks_size())) {}

  Expected<void> merge(const pb::ChunkedMessage &from, Message &to, int depth = 0) {
    if (depth > maxDepth)
      return Unexpected(invalidArgument("its chunks are nested more than ", maxDepth, " deep"));
    if (from.has_chunk_index())
      TREADLE_TRY(mergeChunk(from.chunk_index(), to));
    std::vector<const pb::ChunkedField *> fields;
    for (const pb::ChunkedField &field : from.chunked_fields())
      fields.push_back(&field);
    std::sort(fields.begin(), fields.end(), comesBefore);
    for (const pb::ChunkedField *field : fields)
      TREADLE_TRY(mergeField(field->field_tag(), 0, field->message(), to, depth));
    return {};
  }

private:
  Expected<std::string> read(uint64_t index) {
    if (index >= static_cast<uint64_t>(metadata.chunks_size()))
      return Unexpected(invalidArgument("chunk ", index, " is out of range: the file has ",
                                        metadata.chunks_size(), " chunks"));
    if (isMerged[index])
      return Unexpected(invalidArgument("chunk ", index, " is used twice"));
    isMerged[index] = true;
    const pb::ChunkInfo &info = metadata.chunks(static_cast<int>(index));
    Expected<std::string> chunk = reader.read(info.offset());
    if (chunk && info.size() != 0 && chunk->size() != info.size())
      return Unexpected(
          dataLoss("chunk ", index, " has ", chunk->size(), " bytes, expected ", info.size()));
    return chunk;
  }

  Expected<void> mergeChunk(uint64_t index, Message &to) {
    std::string chunk = TREADLE_TRY(read(index));
    google::protobuf::io::CodedInputStream input(reinterpret_cast<const uint8_t *>(chunk.data()),
                                                 static_cast<int>(chunk.size()));
    if (!to.MergeFromCodedStream(&input) || !input.ConsumedEntireMessage())
      return Unexpected(invalidArgument("chunk ", index, " isn't a ", to.GetTypeName().substr(11)));
    return {};
  }

  /// `tag[at...]` is the path from `to` to the field.
  Expected<void> mergeField(const FieldTag &tag, int at, const pb::ChunkedMessage &from,
                            Message &to, int depth) {
    if (at == tag.size())
      return merge(from, to, depth + 1);
    const FieldDescriptor *field =
        to.GetDescriptor()->FindFieldByNumber(static_cast<int>(tag[at].field()));
    if (!tag[at].has_field() || !field)
      return Unexpected(invalidArgument("field ", tag[at].field(), " doesn't exist in a ",
                                        to.GetTypeName().substr(11)));
    bool isElement = at + 1 < tag.size() && !tag[at + 1].has_field();
    int next = at + 1 + isElement;
    if (field->is_repeated() != isElement)
      return Unexpected(unimplemented("chunks of ", nameOf(field), " as a whole can't be merged"));
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE)
      return mergeValue(field, from, to);
    Message *element = TREADLE_TRY(isElement ? findElement(field, tag[at + 1], to)
                                             : to.GetReflection()->MutableMessage(&to, field));
    return mergeField(tag, next, from, *element, depth);
  }

  /// Merges the bytes of a field that was split out by itself.
  Expected<void> mergeValue(const FieldDescriptor *field, const pb::ChunkedMessage &from,
                            Message &to) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_STRING || field->is_repeated())
      return Unexpected(unimplemented("a chunk of ", nameOf(field), " can't be merged"));
    std::string chunk = TREADLE_TRY(read(from.chunk_index()));
    std::string value = to.GetReflection()->GetString(to, field);
    to.GetReflection()->SetString(&to, field, value.empty() ? std::move(chunk) : value + chunk);
    return {};
  }

  Expected<Message *> findElement(const FieldDescriptor *field, const pb::FieldIndex &which,
                                  Message &in) {
    if (field->is_map())
      return findEntry(field, which.map_key(), in);
    const Reflection &reflection = *in.GetReflection();
    // The total number of missing elements is limited by the number of chunks.
    uint64_t size = reflection.FieldSize(in, field);
    bool isThere = which.index() < size;
    if (!which.has_index() || (!isThere && which.index() - size >= missing))
      return Unexpected(invalidArgument("element ", which.index(), " of ", nameOf(field),
                                        " is out of range: the field has ", size, " elements"));
    for (; size <= which.index(); ++size, --missing)
      reflection.AddMessage(&in, field);
    return reflection.MutableRepeatedMessage(&in, field, static_cast<int>(which.index()));
  }

  Expected<Message *> findEntry(const FieldDescriptor *field, const pb::FieldIndex::MapKey &key,
                                Message &in) {
    // Reflection would keep a second copy of the map.
    if (auto *node = google::protobuf::DynamicCastToGenerated<pb::NodeDef>(&in))
      return static_cast<Message *>(&(*node->mutable_attr())[key.s()]);
    const FieldDescriptor *keyField = field->message_type()->map_key();
    const FieldDescriptor *valueField = field->message_type()->map_value();
    if (keyField->cpp_type() != FieldDescriptor::CPPTYPE_STRING || !key.has_s() ||
        valueField->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE)
      return Unexpected(
          unimplemented("a chunk of an entry of ", nameOf(field), " can't be merged"));
    const Reflection &reflection = *in.GetReflection();
    Message *entry = nullptr;
    for (int i = 0; i < reflection.FieldSize(in, field) && !entry; ++i) {
      Message *candidate = reflection.MutableRepeatedMessage(&in, field, i);
      if (candidate->GetReflection()->GetString(*candidate, keyField) == key.s())
        entry = candidate;
    }
    if (!entry) {
      entry = reflection.AddMessage(&in, field);
      entry->GetReflection()->SetString(entry, keyField, key.s());
    }
    return entry->GetReflection()->MutableMessage(entry, valueField);
  }

  riegeli::RecordReader &reader;
  const pb::ChunkMetadata &metadata;
  std::vector<bool> isMerged;
  uint64_t missing;
};

Unexpected chunksError(const Error &error) {
  return Unexpected(Error{error.code, "the file of chunks can't be read: " + error.message});
}

} // namespace

Expected<void> mergeChunks(std::string_view bytes, Message &message) {
  google::protobuf::LogSilencer silencer;
  Expected<riegeli::RecordReader> reader = riegeli::RecordReader::open(bytes);
  if (!reader)
    return chunksError(reader.error());
  Expected<std::string> last = reader->readLast();
  if (!last)
    return chunksError(last.error());
  pb::ChunkMetadata metadata;
  if (!metadata.ParseFromString(*last))
    return chunksError(invalidArgument("the last record doesn't parse as the metadata of chunks"));
  constexpr int joinVersion = 0;
  if (metadata.version().join_version() > joinVersion)
    return chunksError(unimplemented("the chunk metadata has version ",
                                     metadata.version().join_version(), ", expected at most ",
                                     joinVersion));
  if (Expected<void> ok = Merger(*reader, metadata).merge(metadata.message(), message); !ok)
    return chunksError(ok.error());
  return {};
}

} // namespace treadle::graphdef
