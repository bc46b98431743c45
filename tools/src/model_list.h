// The models that --model takes by name, printed for people or as JSON.
#pragma once

#include <string_view>

#include "command.h"

namespace octavo::tools {

/// What --model says to get the list.
inline constexpr std::string_view kModelList = "list";
inline constexpr const char* kModelHelp =
    "a name (\"list\" shows them), config.json, model folder, .gguf or .safetensors";

void print_model_list(Context& context);

}  // namespace octavo::tools
