#include "collect/held_records.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "record/json_writer.h"

namespace msprobe {
namespace {

using Cell = std::shared_ptr<std::optional<Statistics>>;

/// A device whose numbers the test sets.
class FakeSource : public LateStatistics {
 public:
  Cell Begin(double max) {
    auto cell = std::make_shared<std::optional<Statistics>>();
    begun_.emplace_back(cell, max);
    return cell;
  }
  std::size_t waiting() const override { return begun_.size(); }
  bool Fetch() override {
    ++fetches;
    if (!readable) {
      return false;
    }
    std::vector<std::pair<Cell, double>> begun;
    begun.swap(begun_);
    if (meanwhile) {
      meanwhile();
    }
    for (auto& [cell, max] : begun) {
      cell->emplace();
      if (!fails) {
        (*cell)->max = max;
        (*cell)->finite_max = 1.0;
      }
    }
    return true;
  }
  int fetches = 0;
  bool readable = true;
  bool fails = false;
  std::function<void()> meanwhile;

 private:
  std::vector<std::pair<Cell, double>> begun_;
};

class HeldRecordsTest : public testing::Test {
 protected:
  static FinishedRecord Make(const std::string& name, Cell late) {
    FinishedRecord finished{{name, {}}, {}, {}};
    auto tensor = std::make_unique<TensorElement>();
    tensor->late = std::move(late);
    ElementList nested;
    nested.push_back(Element(std::move(tensor)));
    ElementList arguments;
    arguments.push_back(Element(std::move(nested)));
    finished.record.sections.push_back(Member{"input_args", Element(std::move(arguments))});
    return finished;
  }
  void Add(const std::string& name, Cell late = nullptr) { held_.Add(Make(name, std::move(late)), source_); }

  FakeSource source_;
  std::vector<std::string> names_;
  std::vector<std::string> texts_;
  HeldRecords held_{Framework::kPyTorch, false, [this](FinishedRecord finished) {
                      names_.push_back(finished.record.name);
                      std::string text;
                      AppendJson(text, finished.record);
                      texts_.push_back(text);
                    }};
};

TEST_F(HeldRecordsTest, RecordsKeepTheirOrderBehindOneThatWaits) {
  Add("host before");
  EXPECT_EQ(names_.size(), 1U) << "nothing waits: nothing is held";
  const Cell cell = source_.Begin(5.0);
  Add("device", cell);
  Add("host behind");
  EXPECT_EQ(names_.size(), 1U);
  held_.Release(source_);
  EXPECT_EQ(names_, (std::vector<std::string>{"host before", "device", "host behind"}));
  EXPECT_NE(texts_[1].find("\"Max\": 5.0"), std::string::npos) << texts_[1];
  EXPECT_EQ(texts_[2].find("Max"), std::string::npos);
  EXPECT_EQ(source_.fetches, 1);
  EXPECT_EQ(cell.use_count(), 1) << "nothing is kept";
  held_.Release(source_);
  EXPECT_EQ(source_.fetches, 1) << "nothing waits: nothing is read";
}

TEST_F(HeldRecordsTest, ARecordAddedAfterItsStatisticsWereReadHasThem) {
  const Cell cell = source_.Begin(7.0);  // a gradient whose record waits for others
  held_.Release(source_);
  Add("backward", cell);
  EXPECT_NE(texts_.at(0).find("\"Max\": 7.0"), std::string::npos);
}

TEST_F(HeldRecordsTest, NonFiniteExtremesGetTheFiniteOnesBeside) {
  Add("device", source_.Begin(std::numeric_limits<double>::infinity()));
  held_.Release(source_);
  EXPECT_NE(texts_.at(0).find("\"Max\": Infinity"), std::string::npos);
  EXPECT_NE(texts_.at(0).find("\"Max_except_inf_nan\": 1.0"), std::string::npos);
}

TEST_F(HeldRecordsTest, LostStatisticsAreNull) {
  source_.fails = true;
  Add("device", source_.Begin(5.0));
  held_.Release(source_);
  EXPECT_NE(texts_.at(0).find("\"Max\": null, \"Min\": null, \"Mean\": null, \"Norm\": null"), std::string::npos);
}

TEST_F(HeldRecordsTest, RecordsStayWhileNothingCanBeRead) {
  source_.readable = false;
  Add("device", source_.Begin(5.0));
  held_.Release(source_);
  EXPECT_TRUE(names_.empty());
  EXPECT_FALSE(held_.empty());
  source_.readable = true;
  held_.Release(source_);
  EXPECT_NE(texts_.at(0).find("\"Max\": 5.0"), std::string::npos);
}

TEST_F(HeldRecordsTest, AtTheEndWhatCannotBeReadIsNull) {
  source_.readable = false;
  Add("device", source_.Begin(5.0));
  held_.ReleaseUnknown();
  EXPECT_NE(texts_.at(0).find("\"Max\": null"), std::string::npos);
  EXPECT_TRUE(held_.empty());
}

TEST_F(HeldRecordsTest, WhatComesWhileTheDeviceIsReadWaitsForTheNextTime) {
  Cell second;
  source_.meanwhile = [&] {
    source_.meanwhile = nullptr;
    second = source_.Begin(6.0);
    Add("second", second);  // by another thread
    held_.Release(source_);
  };
  Add("first", source_.Begin(5.0));
  held_.Release(source_);
  EXPECT_EQ(names_, (std::vector<std::string>{"first"}));
  held_.Release(source_);
  EXPECT_NE(texts_.at(1).find("\"Max\": 6.0"), std::string::npos);
  EXPECT_EQ(source_.fetches, 2);
}

TEST_F(HeldRecordsTest, SynchronouslyNothingIsHeld) {
  std::vector<std::string> names;
  HeldRecords held(Framework::kPyTorch, true, [&](FinishedRecord finished) { names.push_back(finished.record.name); });
  held.Add(Make("device", source_.Begin(1.0)), source_);
  EXPECT_EQ(names.size(), 1U);
}

TEST_F(HeldRecordsTest, HoldsABoundedNumber) {
  Add("device", source_.Begin(1.0));
  for (std::size_t i = 1; i < HeldRecords::kMostRecords; ++i) {
    Add("host");
  }
  EXPECT_EQ(names_.size(), HeldRecords::kMostRecords);
  EXPECT_EQ(source_.fetches, 1);
  for (std::size_t i = 0; i + 1 < HeldRecords::kMostStatistics; ++i) {
    source_.Begin(1.0);
  }
  Add("device", source_.Begin(1.0));
  EXPECT_EQ(source_.fetches, 2);
}

}  // namespace
}  // namespace msprobe
