// The texts of the catalogue: the fields that the reader needs of each model's published
// config.json, and other names of some models. A table, without logic.
#pragma once

#include <span>
#include <string_view>

#include "octavo/sim/model_source.h"

namespace octavo::sim {

struct CatalogueAlias {
  std::string_view name;
  std::string_view of;
};

std::span<const CatalogueModel> catalogue_models();
std::span<const CatalogueAlias> catalogue_aliases();

}  // namespace octavo::sim
