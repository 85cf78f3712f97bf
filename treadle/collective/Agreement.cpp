// Agreement: ranks compare the collectives that they are about to run, and their order.
#include "treadle/collective/CommunicatorImpl.h"
#include "treadle/collective/Digest.h"

#include <algorithm>
#include <cstring>

namespace treadle {

using namespace collective;

namespace {

/// A list in the form that ranks compare: its digest, plus the list itself if the others don't have
/// it yet.
struct SentList {
  uint64_t digest = 0;
  std::string text;

  Tensor toTensor() const {
    std::string bytes(reinterpret_cast<const char *>(&digest), sizeof(digest));
    return treadle::toTensor(bytes + text);
  }
  static Expected<SentList> of(const Tensor &value, int from) {
    SentList list{0, toText(value)};
    if (list.text.size() < sizeof(list.digest))
      return Unexpected(unknownMessage(from, str("a list of ", value.bytes(), " bytes"),
                                       "a digest of 8 bytes before it"));
    std::memcpy(&list.digest, list.text.data(), sizeof(list.digest));
    list.text.erase(0, sizeof(list.digest));
    return list;
  }
};

/// The outcome of agreeing in several groups: the first error, once all have ended.
class Outcome {
public:
  explicit Outcome(size_t awaited) : awaited(awaited) {}

  void add(const Expected<void> &result) {
    std::lock_guard lock(mutex);
    if (!result && found)
      found = result;
    if (--awaited == 0 || !result)
      changed.notify_all();
  }
  Expected<void> wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return awaited == 0 || !found; });
    return found;
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  size_t awaited;
  Expected<void> found = {};
};

std::vector<std::string> linesOf(const std::string &text) {
  std::vector<std::string> lines;
  for (size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    lines.push_back(text.substr(begin, end - begin));
  return lines;
}

/// Compares each rank's lines with those of the first rank.
Expected<void> firstDifference(const std::vector<std::string> &texts, const std::vector<int> &ranks,
                               std::string_view what) {
  std::vector<std::string> first = linesOf(texts[0]);
  auto compared = [](const std::string &text) { return text.substr(0, text.find('\t')); };
  for (size_t rank = 1; rank < texts.size(); ++rank) {
    std::vector<std::string> lines = linesOf(texts[rank]);
    size_t i = 0;
    while (i < first.size() && i < lines.size() && compared(first[i]) == compared(lines[i]))
      ++i;
    auto line = [&](const std::vector<std::string> &of) {
      std::string text = i < of.size() ? of[i] : "nothing more";
      std::ranges::replace(text, '\t', ' ');
      return text;
    };
    if (i < first.size() || i < lines.size())
      return Unexpected(failedPrecondition(
          "ranks don't agree on ", what, ": number ", i + 1, " is on rank ", ranks[0], " ",
          line(first), ", but on rank ", ranks[rank], " ", line(lines),
          "; all ranks must run the same collectives in the same order"));
  }
  return {};
}

} // namespace

std::string Communicator::Impl::ledgerOf(const GroupAgenda &agenda) const {
  return agenda.groupSize >= transport->size() ? "a/" : str("a/", agenda.groupKey, "/");
}

/// Turns are counted per group, so that a rank's agreements in other groups don't matter.
std::vector<std::string> Communicator::Impl::takeTurns(const std::vector<GroupAgenda> &agendas) {
  std::vector<std::string> turns;
  std::lock_guard lock(mutex);
  for (const GroupAgenda &agenda : agendas) {
    std::string ledger = ledgerOf(agenda);
    turns.push_back(str(ledger, uses[ledger]++));
  }
  return turns;
}

void Communicator::Impl::sendOrder(OrderMessage &said, const std::vector<int> &ranks) {
  if (said.text.empty())
    return;
  for (int to : ranks) {
    bool isNew = false;
    {
      std::lock_guard lock(mutex);
      isNew = to != transport->rank() && said.notified.insert(to).second;
    }
    if (isNew)
      transport->send(to, std::string(orderKey), toTensor(said.text));
  }
}

/// The first rank that finds a cycle ends all ranks, with the same message.
void Communicator::Impl::receiveOrder(int from, std::string_view text) {
  std::optional<std::string> circle;
  {
    std::lock_guard lock(mutex);
    circle = waits.add(from, text);
    if (!circle || failure)
      return;
  }
  std::string message =
      str("ranks would deadlock: ", *circle, "; run collectives in the same order on all ranks");
  for (int to = 0; to < transport->size(); ++to)
    if (to != transport->rank())
      transport->send(to, std::string(cycleKey), toTensor(message));
  failAll(failedPrecondition(message));
}

// A list is sent as its digest; the first time, in full.
void Communicator::Impl::agree(const GroupAgenda &agenda, const std::string &turn,
                               std::vector<int> members, std::string_view what, Patience patience,
                               std::function<void(Expected<void>)> then) {
  bool isWorld = members.size() == static_cast<size_t>(transport->size());
  std::string ledger = ledgerOf(agenda);
  std::string subject =
      isWorld ? std::string(what)
              : str(what, " of group ", agenda.groupKey, " (", rankList(members), ")");
  std::string text;
  for (const std::string &line : agenda.lines)
    text += line + "\n";
  uint64_t digest = digestOf(text);
  {
    std::lock_guard lock(mutex);
    if (!knownLists[{ledger, transport->rank()}].try_emplace(digest, text).second)
      text.clear();
  }
  Tensor list = SentList{digest, text}.toTensor();
  Collective call;
  call.timeout = patience == Patience::Waits ? agenda.timeout : forever;
  auto exchange =
      makeExchange(call, members.size(), [this, ledger, members, subject, then](auto lists) {
        then(lists ? compare(ledger, members, *lists, subject)
                   : Expected<void>(Unexpected(std::move(lists.error()))));
      });
  exchange->what = str("agreeing on ", subject);
  std::vector<Source> sources;
  for (size_t i = 0; i < members.size(); ++i) {
    if (members[i] == transport->rank()) {
      exchange->values[i] = list;
      continue;
    }
    transport->send(members[i], turn, list);
    sources.push_back({members[i], turn, i});
  }
  expect(exchange, sources);
}

Expected<void> Communicator::Impl::compare(const std::string &ledger,
                                           const std::vector<int> &members,
                                           const std::vector<Tensor> &lists,
                                           const std::string &what) {
  std::vector<std::string> texts;
  std::set<uint64_t> digests;
  std::lock_guard lock(mutex);
  for (size_t i = 0; i < lists.size(); ++i) {
    SentList list = TREADLE_TRY(SentList::of(lists[i], members[i]));
    std::string &known = knownLists[{ledger, members[i]}][list.digest];
    if (!list.text.empty())
      known = list.text;
    texts.push_back(known);
    digests.insert(list.digest);
  }
  return digests.size() == 1 ? Expected<void>() : firstDifference(texts, members, what);
}

Expected<void> Communicator::agree(const std::vector<GroupAgenda> &agendas, std::string_view what,
                                   Patience patience, const CollectiveOrder &order) {
  if (size() == 1)
    return {};
  std::vector<std::string> turns = impl->takeTurns(agendas);
  auto said = std::make_shared<OrderMessage>();
  if (patience == Patience::Waits && !order.edges.empty()) {
    said->text = textOf(order, agendas, turns);
    impl->receiveOrder(rank(), said->text);
    impl->sendOrder(*said, {0}); // rank 0, which receives all orders
  }
  auto outcome = std::make_shared<Outcome>(agendas.size());
  for (size_t i = 0; i < agendas.size(); ++i) {
    const GroupAgenda &agenda = agendas[i];
    auto then = [this, outcome, patience](const Expected<void> &result) {
      // No rank waits for it: a difference aborts the run.
      if (!result && patience == Patience::GoesOn &&
          result.error().code == Code::FailedPrecondition)
        abort(result.error());
      outcome->add(result);
    };
    Collective call;
    call.groupSize = std::min(agenda.groupSize, size());
    call.groupKey = agenda.groupKey;
    call.timeout = agenda.timeout;
    call.place = agenda.place;
    std::string subject = str("agreeing on ", what, " of group ", agenda.groupKey);
    impl->whenGroupKnown(call, subject,
                         [this, agenda, turn = turns[i], said, what = std::string(what), patience,
                          then](Expected<std::vector<int>> members) {
                           if (!members)
                             return then(Unexpected(std::move(members.error())));
                           // Sent before the list, so that ranks that have all lists know the
                           // orders of the others.
                           impl->sendOrder(*said, *members);
                           impl->agree(agenda, turn, std::move(*members), what, patience, then);
                         });
  }
  return patience == Patience::Waits ? outcome->wait() : Expected<void>();
}

} // namespace treadle
