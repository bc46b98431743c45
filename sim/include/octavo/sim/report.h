// One self-contained HTML page from results that the program printed as JSON.
//
// The page asks nothing of any network: its style, its script and its charts are in it. The same
// input gives the same bytes. A stateless function, callable from any thread.
#pragma once

#include <span>
#include <string>

namespace octavo::sim {

/// What `octavo plan`, `mrc`, `replay` or `simulate` wrote with --json.
struct ReportInput {
  std::string name;  ///< The file, for messages and for the page's list of sources.
  std::string text;  ///< One JSON object.
};

/// The page. Which command wrote an input is told from its members; what has no data is left out.
/// Throws InputError for text that is no JSON, is no such result, has a schema_version that this
/// program does not know, or lacks a member that the command always writes.
std::string make_report(std::span<const ReportInput> inputs);

}  // namespace octavo::sim
