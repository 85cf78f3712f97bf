#include "treadle/pjrt/Api.h"

#include "treadle/import/bytecode/VhloOps.h"
#include "treadle/pjrt/Buffer.h"
#include "treadle/pjrt/Executable.h"

#include "llvm/Support/VersionTuple.h"

using namespace treadle;
using namespace treadle::pjrt;

namespace {

// --- errors ------------------------------------------------------------------------------------

void destroyError(PJRT_Error_Destroy_Args *args) { delete args->error; }

void errorMessage(PJRT_Error_Message_Args *args) {
  returnText(args->error->error.message, args->message, args->message_size);
}

void errorCode(PJRT_Error_GetCode_Args &args) {
  args.code = static_cast<PJRT_Error_Code>(args.error->error.code);
}

// --- events ------------------------------------------------------------------------------------

void destroyEvent(PJRT_Event_Destroy_Args &args) { delete args.event; }

void isReady(PJRT_Event_IsReady_Args &args) { args.is_ready = args.event->state->isDone(); }

Expected<void> outcome(Completion &state) {
  const Error *error = state.wait();
  return error ? Expected<void>(Unexpected(*error)) : Expected<void>();
}

Expected<void> eventError(PJRT_Event_Error_Args &args) { return outcome(*args.event->state); }

Expected<void> await(PJRT_Event_Await_Args &args) { return outcome(*args.event->state); }

void onReady(PJRT_Event_OnReady_Args &args) {
  args.event->state->whenDone([callback = args.callback, context = args.user_arg](const Error *e) {
    callback(e ? given(*e) : nullptr, context);
  });
}

void createEvent(PJRT_Event_Create_Args &args) {
  args.event = new PJRT_Event{std::make_shared<Completion>()};
}

void setEvent(PJRT_Event_Set_Args &args) {
  if (args.error_code == PJRT_Error_Code_OK)
    args.event->state->succeed();
  else
    args.event->state->fail({static_cast<Code>(args.error_code),
                             std::string(args.error_message, args.error_message_size)});
}

// --- the plug-in -------------------------------------------------------------------------------

void initialize(PJRT_Plugin_Initialize_Args &) {}

/// A version, in the format of PJRT's attributes.
struct Version {
  explicit Version(llvm::StringRef text) {
    llvm::VersionTuple version;
    version.tryParse(text);
    numbers[0] = version.getMajor();
    numbers[1] = version.getMinor().value_or(0);
    numbers[2] = version.getSubminor().value_or(0);
  }
  int64_t numbers[3];
};

PJRT_NamedValue attribute(std::string_view name) {
  PJRT_NamedValue value{};
  value.struct_size = sizeof(value);
  returnText(name, value.name, value.name_size);
  value.value_size = 1;
  return value;
}

PJRT_NamedValue attribute(std::string_view name, int64_t number) {
  PJRT_NamedValue value = attribute(name);
  value.type = PJRT_NamedValue_kInt64;
  value.int64_value = number;
  return value;
}

PJRT_NamedValue attribute(std::string_view name, const Version &version) {
  PJRT_NamedValue value = attribute(name);
  value.type = PJRT_NamedValue_kInt64List;
  value.int64_array_value = version.numbers;
  value.value_size = std::size(version.numbers);
  return value;
}

void attributes(PJRT_Plugin_Attributes_Args &args) {
  static const Version newest(bytecode::newestVhlo), oldest("0.9.0");
  static const PJRT_NamedValue values[] = {attribute("xla_version", 2),
                                           attribute("stablehlo_current_version", newest),
                                           attribute("stablehlo_minimum_version", oldest)};
  args.attributes = values;
  args.num_attributes = std::size(values);
}

// --- unimplemented functions -------------------------------------------------------------------

#define TREADLE_PJRT_DEFINE(name)                                                                  \
  PJRT_Error *missing_##name(void *) { return given(unimplemented(#name)); }
TREADLE_PJRT_MISSING(TREADLE_PJRT_DEFINE)

PJRT_Api makeApi() {
  PJRT_Api api{};
  api.struct_size = sizeof(api);
  api.pjrt_api_version = {{sizeof(PJRT_Api_Version), nullptr}, 0, pjrtMinorVersion};
#define TREADLE_PJRT_SET_MISSING(name) api.name = missing_##name;
  TREADLE_PJRT_MISSING(TREADLE_PJRT_SET_MISSING)
  api.PJRT_Error_Destroy = destroyError;
  api.PJRT_Error_Message = errorMessage;
  TREADLE_PJRT_SET(api, PJRT_Error_GetCode, errorCode);
  TREADLE_PJRT_SET(api, PJRT_Event_Destroy, destroyEvent);
  TREADLE_PJRT_SET(api, PJRT_Event_IsReady, isReady);
  TREADLE_PJRT_SET(api, PJRT_Event_Error, eventError);
  TREADLE_PJRT_SET(api, PJRT_Event_Await, await);
  TREADLE_PJRT_SET(api, PJRT_Event_OnReady, onReady);
  TREADLE_PJRT_SET(api, PJRT_Event_Create, createEvent);
  TREADLE_PJRT_SET(api, PJRT_Event_Set, setEvent);
  TREADLE_PJRT_SET(api, PJRT_Plugin_Initialize, initialize);
  TREADLE_PJRT_SET(api, PJRT_Plugin_Attributes, attributes);
  addClientFunctions(api);
  addBufferFunctions(api);
  addExecutableFunctions(api);
  return api;
}

} // namespace

const PJRT_Api *pjrt::api() {
  static const PJRT_Api table = makeApi();
  return &table;
}

const PJRT_Api *treadle_pjrt_api() { return pjrt::api(); }
