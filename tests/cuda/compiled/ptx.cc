#include "tests/cuda/compiled/ptx.h"

#include <stdexcept>
#include <utility>

#include "tests/cuda/compiled/ptx_walk.h"

namespace octavo::compiled {
namespace {

// "13.0.88" from the comment "Cuda compilation tools, release 13.0, V13.0.88".
std::string compiler_of(std::string_view text) {
  const std::size_t line = text.find("Cuda compilation tools, release");
  const std::size_t at = line == std::string_view::npos ? line : text.find(", V", line);
  if (at == std::string_view::npos) {
    return {};
  }
  std::string_view version = text.substr(at + 3);
  return std::string(version.substr(0, version.find_first_not_of("0123456789.")));
}

class ModuleSink final : public PtxSink {
 public:
  explicit ModuleSink(PtxModule& module) : module_(module) {}

  void target(const std::string& name) override { module_.target = name; }
  void function(const std::string& name, bool is_kernel, const std::string& /*head*/) override {
    module_.functions.push_back({.name = name, .is_kernel = is_kernel, .instructions = {}});
  }
  void instruction(const PtxStatement& statement) override {
    module_.functions.back().instructions.push_back({statement.opcode, statement.line});
  }

 private:
  PtxModule& module_;
};

}  // namespace

PtxModule read_ptx(std::string_view text) {
  PtxModule module;
  module.compiler = compiler_of(text);
  ModuleSink sink(module);
  walk_ptx(text, sink);
  if (module.target.empty()) {
    throw std::runtime_error("PTX: no .target");
  }
  return module;
}

}  // namespace octavo::compiled
