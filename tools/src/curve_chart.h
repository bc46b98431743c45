// A curve over a logarithmic axis, drawn with characters for people at a terminal.
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>

namespace octavo::tools {

/// Draws `rate` in [0, 1] over sizes from `least` >= 1 to `most`, at most 79 columns wide, the
/// columns a constant factor apart. `unit` names what the sizes are.
void draw_curve(std::ostream& out,
                std::int64_t least,
                std::int64_t most,
                const std::string& unit,
                const std::function<double(std::int64_t)>& rate);

}  // namespace octavo::tools
