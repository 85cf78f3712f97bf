// A page for the browser of this machine's user, and nobody else.
#pragma once

#include "treadle/tensor/Error.h"

#include <functional>
#include <map>
#include <string>

namespace treadle::cli {

/// An answer with its headers. `allowed`: the origin whose pages may read it; empty: none but its
/// own.
std::string httpReply(std::string_view status, std::string_view type, std::string_view body,
                      std::string_view allowed = "");

/// Listens on the loopback address alone, and answers only who has the token: the page at
/// `/?token=...`, and its parts at `/section/NAME` to requests with the token as a bearer. A name
/// that leads elsewhere is refused (`Host` must be this address), so that a page from the network
/// can't ask in the browser's place.
class PageServer {
public:
  /// `port`: 0 for one that is free. Unavailable where it can't be listened on.
  static Expected<PageServer> listen(int port);
  PageServer(PageServer &&other) noexcept;
  PageServer &operator=(PageServer &&) = delete;
  ~PageServer();

  const std::string &token() const { return secret; }
  /// `http://127.0.0.1:40321/?token=...`.
  std::string address() const;
  /// Serves until the process ends: `answer` gives the answer to the head of a request, on a thread
  /// of its own.
  [[noreturn]] void serve(const std::function<std::string(std::string_view)> &answer);

  /// The answer to a request whose head is `head`: status line, headers and body. For tests.
  std::string answer(std::string_view head, const std::string &page,
                     const std::map<std::string, std::string> &parts) const;

private:
  PageServer(int socket, int port, std::string secret)
      : socket(socket), port(port), secret(std::move(secret)) {}

  int socket;
  int port;
  std::string secret;
};

} // namespace treadle::cli
