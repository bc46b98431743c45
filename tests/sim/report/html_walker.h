// A strict reader of the pages that a report makes: every element that is opened is closed, in
// order, and attributes are quoted.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace octavo::sim::testing {

struct Element {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::string text;  ///< Of it and of all below it, entities resolved.
  int parent = -1;   ///< Index in the list, -1 for the outermost.
};

struct Page {
  std::vector<Element> elements;    ///< In the order of their opening tags.
  std::vector<std::string> faults;  ///< What is not well formed.

  bool is_within(std::size_t element, std::size_t ancestor) const;
  /// Indices of the elements of that name, and of that class when one is given, below `ancestor`
  /// (-1: all).
  std::vector<std::size_t> find(const std::string& name,
                                const std::string& css = {},
                                int ancestor = -1) const;
};

Page read_page(const std::string& html);

}  // namespace octavo::sim::testing
