#include "treadle/collective/CommunicatorImpl.h"

namespace treadle {

using namespace collective;

std::string collective::descriptionOf(const Collective &call) {
  return str(kindNames[call.kind], call.name.empty() ? "" : str(" '", call.name, "'"), " (group ",
             call.groupKey, ", instance ",
             call.instanceName.empty() ? std::to_string(call.instance)
                                       : str("'", call.instanceName, "'"),
             ")");
}

Communicator::Communicator(std::unique_ptr<Transport> transport, double timeout)
    : impl(std::make_unique<Impl>(std::move(transport), timeout)) {
  impl->listen();
}

Communicator::~Communicator() {
  leave();
  if (impl->transport)
    impl->transport->close();
  {
    std::lock_guard lock(impl->mutex);
    impl->isClosed = true;
  }
  impl->failAll(cancelled("the communicator was closed"));
  impl->changed.notify_all();
  if (impl->watcher.joinable())
    impl->watcher.join();
}

int Communicator::rank() const { return impl->transport ? impl->transport->rank() : 0; }
double Communicator::timeout() const { return impl->timeout; }
int Communicator::size() const { return impl->transport ? impl->transport->size() : 1; }

void Communicator::Impl::listen() {
  if (transport)
    transport->listen([this](Message message) { take(std::move(message)); });
}

static std::vector<int> chosen(const std::vector<int> &members, const std::vector<int> &places) {
  std::vector<int> ranks;
  ranks.reserve(places.size());
  for (int place : places)
    ranks.push_back(members[static_cast<size_t>(place)]);
  return ranks;
}

void Communicator::start(const Collective &call, Done done) {
  if (call.groupSize < 1 || call.groupSize > size())
    return done(Unexpected(invalidArgument(
        kindNames[call.kind], " '", call.name, "': its group has ", call.groupSize,
        call.groupSize == 1 ? " rank" : " ranks", ", but there ", size() == 1 ? "is " : "are ",
        size(),
        call.groupSize > 1 ? str("; start as many processes: mpirun -n ", call.groupSize)
                           : std::string())));
  if (std::optional<Error> error = validationError(call))
    return done(Unexpected(std::move(*error)));
  if (call.groupSize == 1 || call.places.size() == 1)
    return done(alone(call));
  // The maximum size of an MPI message.
  if (call.input && call.input.bytes() > size_t{1} << 30)
    return done(
        Unexpected(unimplemented(kindNames[call.kind], " '", call.name, "' of ", call.input.bytes(),
                                 " bytes; values of up to 1 GiB can be sent")));
  std::string key = str("c/", call.groupKey, "/", call.instance, "/", call.instanceName);
  if (!call.places.empty())
    key += str("@", call.places.front()); // lists of places are disjoint, so the first one
                                          // identifies the list
  {
    // A repeated name denotes the next collective of its kind, on all ranks.
    std::lock_guard lock(impl->mutex);
    int64_t use = impl->uses[key]++;
    key += str("/", use);
  }
  impl->whenGroupKnown(
      call, descriptionOf(call),
      [this, call, key, done = std::move(done)](Expected<std::vector<int>> members) {
        if (!members)
          return done(Unexpected(std::move(members.error())));
        if (!call.places.empty())
          *members = chosen(*members, call.places);
        impl->run(call, std::move(*members), key, done);
      });
}

std::shared_ptr<Communicator> communicatorOf(ResourceManager &resources) {
  static const auto alone = std::make_shared<Communicator>(nullptr);
  auto found = resources.lookup<CommunicatorResource>("", "");
  return found ? found->communicator : alone;
}

void Communicator::send(int to, const std::string &key, Tensor value) {
  impl->deliverTo(to, "p/" + key, std::move(value));
}

/// Creates an exchange that waits for one value.
ExchangePtr Communicator::Impl::makeReception(std::string what, double timeout, Done done) const {
  Collective call;
  call.timeout = timeout;
  auto exchange = makeExchange(call, 1, [done](Expected<std::vector<Tensor>> values) {
    if (values)
      done(std::move(values->front()));
    else
      done(Unexpected(std::move(values.error())));
  });
  exchange->what = std::move(what);
  return exchange;
}

void Communicator::receive(int from, const std::string &key, double timeout, Done done) {
  impl->expect(impl->makeReception(str("receiving '", key, "'"), timeout, std::move(done)),
               {{from, "p/" + key, 0}});
}

void Communicator::deposit(const std::string &key, Tensor value) {
  impl->deliverTo(0, str(depositPrefix, key), std::move(value));
}

void Communicator::collect(const std::string &key, Done done) {
  ExchangePtr exchange = impl->makeReception(
      str("receiving '", key, "', which another rank has to send"), 0, std::move(done));
  exchange->isThroughHost = true;
  impl->deliverTo(0, str(collectPrefix, key), toTensor(""));
  impl->expect(exchange, {{0, "p/" + key, 0}});
}

void Communicator::waitForOthersToLeave() {
  std::unique_lock lock(impl->mutex);
  impl->changed.wait(lock, [&] {
    return impl->failure || impl->departed.size() + 1 >= static_cast<size_t>(size());
  });
}

void Communicator::abort(const Error &error) {
  if (size() > 1)
    impl->abort(error);
}

void Communicator::Impl::abort(const Error &error) {
  {
    std::lock_guard lock(mutex);
    if (std::exchange(hasAborted, true) || failure)
      return;
  }
  for (int to = 0; to < transport->size(); ++to)
    if (to != transport->rank())
      transport->send(to, std::string(abortKey), toTensor(error.message));
  failAll(error);
}

void Communicator::leave() {
  {
    std::lock_guard lock(impl->mutex);
    if (size() == 1 || std::exchange(impl->hasLeft, true))
      return;
  }
  for (int to = 0; to < size(); ++to)
    if (to != rank())
      impl->transport->send(to, std::string(leaveKey), toTensor(""));
}

} // namespace treadle
