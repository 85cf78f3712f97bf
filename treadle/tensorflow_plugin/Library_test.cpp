// Functions are restored unchanged.
#include "treadle/tensorflow_plugin/Library.h"

#include "treadle/proto/graph.pb.h"

#include <gtest/gtest.h>

namespace treadle::tensorflow {
namespace {

pb::GraphDef graphWith(bool withBody) {
  pb::GraphDef graph;
  graph.add_node()->set_name("n");
  pb::FunctionDef *function = graph.mutable_library()->add_function();
  function->mutable_signature()->set_name("f");
  function->mutable_signature()->add_output_arg()->set_name("y");
  if (withBody)
    (*function->mutable_ret())["y"] = "x";
  return graph;
}

TEST(Library, DeclarationsAreTakenOutAndPutBack) {
  std::string graph = graphWith(false).SerializeAsString();
  Library library;
  Expected<std::string> taken = library.takeFrom(graph);
  ASSERT_TRUE(taken);
  pb::GraphDef without;
  ASSERT_TRUE(without.ParseFromString(*taken));
  EXPECT_FALSE(without.has_library());
  EXPECT_EQ(without.node_size(), 1);
  EXPECT_EQ(*library.putBackInto(*taken), graph);
}

TEST(Library, FunctionsWithBodiesStay) {
  std::string graph = graphWith(true).SerializeAsString();
  Library library;
  EXPECT_EQ(*library.takeFrom(graph), graph);
  EXPECT_EQ(*library.putBackInto(graph), graph);
}

TEST(Library, WhatIsNoGraphIsRefused) {
  Library library;
  EXPECT_EQ(library.takeFrom("\xff\xff").error().message, "the bytes don't parse as a GraphDef");
}

} // namespace
} // namespace treadle::tensorflow
