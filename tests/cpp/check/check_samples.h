#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/temporary_folder.h"
#include "check/case_rows.h"
#include "check/plan.h"

namespace msprobe {

inline std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline void WriteText(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// Rows that pass, with `outputs` forward outputs and a message that needs quoting.
inline CaseRows PassRows(const std::string& name, int outputs = 1) {
  CaseRows rows{name, "pass", " ", "", {}};
  for (int i = 0; i < outputs; ++i) {
    std::vector<std::string> row(kDetailsColumns, " ");
    row[0] = name + ".forward.output." + std::to_string(i);
    row[21] = "pass";
    row[22] = "line one\nline \"two\", done";
    rows.details.push_back(std::move(row));
  }
  return rows;
}

/// A plan of these names, all to be run.
inline CheckPlan PlanOf(const std::vector<std::string>& names) {
  CheckPlan plan;
  for (const std::string& name : names) {
    CheckCase item;
    item.full_name = name;
    item.type = "Torch";
    item.api = "add";
    plan.cases.push_back(std::move(item));
  }
  return plan;
}

}  // namespace msprobe
