#include "model_list.h"

#include "octavo/sim/model_source.h"
#include "table.h"

namespace octavo::tools {

void print_model_list(Context& context) {
  if (context.json) {
    context.out << sim::catalogue_json() << '\n';
    return;
  }
  Table table({{"model", Table::Align::Left},
               {"parameters, 1e9"},
               {"layers"},
               {"bytes a token"},
               {"of them in windows"},
               {"bytes a request"}});
  for (const sim::CatalogueRow& row : sim::catalogue_rows()) {
    constexpr double kBillion = 1e9;
    table.add_row({row.name, fixed(static_cast<double>(row.parameters) / kBillion, 2),
                   grouped(row.layers), grouped(row.token_bytes), grouped(row.window_token_bytes),
                   grouped(row.sequence_bytes)});
  }
  context.out << table;
}

}  // namespace octavo::tools
