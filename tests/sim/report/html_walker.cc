#include "html_walker.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

namespace octavo::sim::testing {
namespace {

const std::set<std::string, std::less<>> kVoid{"meta", "link", "br"};
const std::set<std::string, std::less<>> kRaw{"script", "style"};

class Walker {
 public:
  explicit Walker(std::string_view html) : rest_(html) {}

  Page read() {
    constexpr std::string_view kDoctype = "<!DOCTYPE html>";
    if (rest_.starts_with(kDoctype)) {
      rest_.remove_prefix(kDoctype.size());
    } else {
      fault("no doctype");
    }
    while (!rest_.empty() && page_.faults.size() < 20) {
      if (rest_[0] != '<') {
        text(rest_.substr(0, rest_.find('<')));
      } else if (rest_.starts_with("</")) {
        close();
      } else {
        open();
      }
    }
    for (const std::size_t element : stack_) {
      fault("not closed: " + page_.elements[element].name);
    }
    return std::move(page_);
  }

 private:
  void fault(const std::string& what) { page_.faults.push_back(what); }

  std::string take_until(std::string_view ends) {
    const std::size_t end = std::min(rest_.find_first_of(ends), rest_.size());
    std::string taken(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return taken;
  }

  std::string resolved(std::string_view raw) {
    static constexpr std::array<std::pair<std::string_view, char>, 5> kEntities{
        {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&#39;", '\''}}};
    std::string out;
    while (!raw.empty()) {
      std::size_t length = 1;
      char c = raw[0];
      if (c == '&') {
        const auto* found =
            std::find_if(kEntities.begin(), kEntities.end(),
                         [raw](const auto& one) { return raw.starts_with(one.first); });
        if (found == kEntities.end()) {
          fault("bare & before '" + std::string(raw.substr(0, 20)) + "'");
        } else {
          length = found->first.size();
          c = found->second;
        }
      } else if (c == '>') {
        fault("bare > in text '" + std::string(raw.substr(0, 20)) + "'");
      }
      out += c;
      raw.remove_prefix(length);
    }
    return out;
  }

  void text(std::string_view raw) {
    const std::string words = resolved(raw);
    rest_.remove_prefix(raw.size());
    if (stack_.empty() && words.find_first_not_of(" \n") != std::string::npos) {
      fault("text outside of everything: " + words);
    }
    for (const std::size_t element : stack_) {
      page_.elements[element].text += words;
    }
  }

  void close() {
    rest_.remove_prefix(2);
    const std::string name = take_until(">");
    rest_.remove_prefix(std::min<std::size_t>(1, rest_.size()));
    if (stack_.empty() || page_.elements[stack_.back()].name != name) {
      fault("</" + name + "> closes " +
            (stack_.empty() ? "nothing" : page_.elements[stack_.back()].name));
      return;
    }
    stack_.pop_back();
  }

  void open() {
    rest_.remove_prefix(1);
    Element element;
    element.name = take_until(" />");
    element.parent = stack_.empty() ? -1 : static_cast<int>(stack_.back());
    while (!rest_.empty() && rest_[0] == ' ') {
      rest_.remove_prefix(1);
      attribute(element);
    }
    const bool closed = rest_.starts_with("/>");
    if (!closed && !rest_.starts_with(">")) {
      fault("a tag of " + element.name + " does not end: " + std::string(rest_.substr(0, 30)));
    }
    rest_.remove_prefix(std::min<std::size_t>(closed ? 2 : 1, rest_.size()));
    page_.elements.push_back(element);
    if (closed || kVoid.contains(element.name)) {
      return;
    }
    stack_.push_back(page_.elements.size() - 1);
    if (kRaw.contains(element.name)) {  // Up to its end tag, whatever stands there.
      const std::size_t end = std::min(rest_.find("</" + element.name), rest_.size());
      page_.elements.back().text = std::string(rest_.substr(0, end));
      rest_.remove_prefix(end);
    }
  }

  void attribute(Element& element) {
    const std::string name = take_until("=> ");
    if (!rest_.starts_with("=\"")) {
      fault("attribute " + name + " of " + element.name + " has no quoted value");
      return;
    }
    rest_.remove_prefix(2);
    const std::string value = resolved(take_until("\"<"));
    if (!rest_.starts_with("\"")) {
      fault("attribute " + name + " of " + element.name + " has a bare <");
      return;
    }
    rest_.remove_prefix(1);
    if (!element.attributes.emplace(name, value).second) {
      fault("attribute " + name + " of " + element.name + " stands twice");
    }
  }

  std::string_view rest_;
  Page page_;
  std::vector<std::size_t> stack_;
};

}  // namespace

bool Page::is_within(std::size_t element, std::size_t ancestor) const {
  for (int at = elements[element].parent; at >= 0;
       at = elements[static_cast<std::size_t>(at)].parent) {
    if (static_cast<std::size_t>(at) == ancestor) {
      return true;
    }
  }
  return false;
}

std::vector<std::size_t> Page::find(const std::string& name,
                                    const std::string& css,
                                    int ancestor) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const Element& element = elements[i];
    if (!name.empty() && element.name != name) {
      continue;
    }
    if (!css.empty()) {
      const auto classes = element.attributes.find("class");
      if (classes == element.attributes.end() ||
          (" " + classes->second + " ").find(" " + css + " ") == std::string::npos) {
        continue;
      }
    }
    if (ancestor < 0 || is_within(i, static_cast<std::size_t>(ancestor))) {
      found.push_back(i);
    }
  }
  return found;
}

Page read_page(const std::string& html) {
  return Walker(html).read();
}

}  // namespace octavo::sim::testing
