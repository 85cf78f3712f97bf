// Tests of the requests that are answered, and of those that are refused.
#include "treadle/tools/cli/PageServer.h"

#include <gtest/gtest.h>

namespace treadle::cli {
namespace {

class PageServerTest : public testing::Test {
protected:
  /// Returns the status of the response to a request.
  std::string ask(const std::string &target, const std::string &headers = "",
                  const std::string &host = "") {
    std::string head =
        "GET " + target + " HTTP/1.1\r\nHost: " + (host.empty() ? own() : host) + headers;
    std::string answer = server.answer(head, "the page", {{"scene", "its bytes"}});
    body = answer.substr(answer.find("\r\n\r\n") + 4);
    return answer.substr(9, 3);
  }
  std::string own() const {
    std::string address = server.address().substr(7);
    return address.substr(0, address.find('/'));
  }

  PageServer server = std::move(*PageServer::listen(0));
  std::string body;
};

TEST_F(PageServerTest, ThePageIsForWhoHasTheToken) {
  EXPECT_EQ(ask("/?token=" + server.token()), "200");
  EXPECT_EQ(body, "the page");
  EXPECT_EQ(ask("/"), "403");
  EXPECT_EQ(ask("/?token="), "403");
  EXPECT_EQ(ask("/?token=" + server.token() + "0"), "403");
}

TEST_F(PageServerTest, PartsNeedTheTokenInAHeader) {
  std::string bearer = "\r\nauthorization: Bearer " + server.token();
  EXPECT_EQ(ask("/section/scene", bearer), "200");
  EXPECT_EQ(body, "its bytes");
  EXPECT_EQ(ask("/section/scene"), "403");
  EXPECT_EQ(ask("/section/scene", bearer + "1"), "403");
  EXPECT_EQ(ask("/section/../scene", bearer), "404");
}

TEST_F(PageServerTest, OtherNamesOfTheAddressAreRefused) {
  EXPECT_EQ(ask("/?token=" + server.token(), "", "somewhere.example"), "403");
  EXPECT_EQ(ask("/?token=" + server.token(), "", own() + ".example"), "403");
}

TEST_F(PageServerTest, WhatIsNoRequestIsRefused) {
  EXPECT_TRUE(server.answer("", "", {}).starts_with("HTTP/1.1 403"));
  EXPECT_TRUE(
      server.answer("POST / HTTP/1.1\r\nHost: " + own(), "", {}).starts_with("HTTP/1.1 405"));
  EXPECT_TRUE(server.answer("GET", "", {}).starts_with("HTTP/1.1 403"));
}

TEST_F(PageServerTest, APortThatIsTakenIsNamed) {
  std::string address = own();
  int port = std::stoi(address.substr(address.find(':') + 1));
  Expected<PageServer> second = PageServer::listen(port);
  ASSERT_FALSE(second);
  EXPECT_TRUE(second.error().message.starts_with("port " + std::to_string(port)));
}

} // namespace
} // namespace treadle::cli
