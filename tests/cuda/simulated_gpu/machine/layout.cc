#include "tests/cuda/simulated_gpu/machine/layout.h"

#include <sstream>
#include <stdexcept>

namespace octavo::simulated_gpu {
namespace {

std::uint32_t element_bytes(const std::string& type) {
  constexpr unsigned kByteBits = 8;
  if (type.size() < 3 || type[0] != '.' || std::string("busf").find(type[1]) == std::string::npos) {
    return 0;
  }
  return static_cast<std::uint32_t>(std::stoul(type.substr(2))) / kByteBits;
}

}  // namespace

Room room_of(const std::string& declaration) {
  Room room;
  std::uint32_t element = 0;
  std::istringstream words(declaration);
  for (std::string word; words >> word;) {
    if (word == ".align") {
      words >> room.align_bytes;
    } else if (word == ".extern" || word == ".shared" || word == ".param") {
      continue;
    } else if (word.front() == '.') {
      element = element_bytes(word);
    } else {
      room.name = word;
    }
  }
  if (element == 0 || room.name.empty()) {
    throw std::runtime_error("no declaration of memory: " + declaration);
  }
  room.size_bytes = element;
  if (room.align_bytes < element) {
    room.align_bytes = element;
  }
  const std::size_t bracket = room.name.find('[');
  if (bracket != std::string::npos) {
    const std::string count = room.name.substr(bracket + 1);
    room.size_bytes *= count.front() == ']' ? 0 : static_cast<std::uint32_t>(std::stoul(count));
    room.name.resize(bracket);
  }
  return room;
}

std::vector<Room> parameters_of(const std::string& head) {
  std::vector<Room> parameters;
  const std::size_t open = head.find('(');
  const std::size_t close = head.find(')', open);
  if (open == std::string::npos || close == std::string::npos) {
    return parameters;
  }
  std::istringstream list(head.substr(open + 1, close - open - 1));
  for (std::string declaration; std::getline(list, declaration, ',');) {
    if (declaration.find_first_not_of(" \t\n") != std::string::npos) {
      parameters.push_back(room_of(declaration));
    }
  }
  return parameters;
}

std::uint32_t directive_number(const std::string& head, const std::string& directive) {
  const std::size_t at = head.find(directive + " ");
  return at == std::string::npos
             ? 0
             : static_cast<std::uint32_t>(std::stoul(head.substr(at + directive.size())));
}

}  // namespace octavo::simulated_gpu
