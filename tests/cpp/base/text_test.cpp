#include "base/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace msprobe {
namespace {

TEST(Text, ParsesEveryNumberFormOfTheFiles) {
  EXPECT_EQ(ParseDouble("0.99999994597235"), 0.99999994597235);
  EXPECT_EQ(ParseDouble("7.7694654e-05"), 7.7694654e-05);
  EXPECT_EQ(ParseDouble(" 1 "), 1.0);
  EXPECT_EQ(ParseDouble("+2.5"), 2.5);
  EXPECT_EQ(ParseDouble("-inf"), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(ParseDouble("Nan").value()));
  EXPECT_EQ(ParseDouble("1e999"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(ParseDouble("-1e999"), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(ParseDouble("1e-999"), 0.0);
  EXPECT_EQ(ParseDouble(std::string(400, '9')), std::numeric_limits<double>::infinity());
  EXPECT_EQ(ParseDouble("0." + std::string(400, '0') + "1"), 0.0);
}

TEST(Text, RefusesWhatIsNoNumber) {
  for (const char* text : {"", " ", "abc", "1,5", "0x10", "1_000", "1e", "--1", "+-1", "nan(1)", "1 2", "."}) {
    EXPECT_FALSE(ParseDouble(text).has_value()) << text;
  }
  EXPECT_EQ(ParseInteger("-12"), -12);
  for (const char* text : {"", " 1", "1 ", "1.0", "99999999999999999999", "+1", "0x1"}) {
    EXPECT_FALSE(ParseInteger(text).has_value()) << text;
  }
}

TEST(Text, DistanceStopsAtTheLimit) {
  EXPECT_EQ(EditDistance("kitten", "sitting", 10), 3U);
  EXPECT_EQ(EditDistance("kitten", "sitting", 2), 3U);
  EXPECT_EQ(EditDistance("", "abc", 5), 3U);
  EXPECT_EQ(EditDistance("same", "same", 0), 0U);
}

TEST(Text, FindsTheNearestName) {
  const std::vector<std::string> known = {"conv1d", "conv2d", "linear", "relu"};
  EXPECT_EQ(Nearest("conv2", known), "conv2d");
  EXPECT_EQ(Nearest("Linear", known), "linear");
  EXPECT_EQ(Nearest("lineer", known), "linear");
  EXPECT_EQ(Nearest("softmax", known), "");
  EXPECT_EQ(Nearest("", known), "");
  EXPECT_EQ(Nearest(std::string(100000, 'x'), known), "");
}

TEST(Text, MakesMessagesSafe) {
  EXPECT_EQ(Printable("a\nb\tc\x1b[31m\x7f"), "a_b_c_[31m_");
  EXPECT_EQ(Printable("x%0ay%7Fz%20"), "x_y_z%20");
  EXPECT_EQ(Printable("\xE5\xB0\x8F\xE5\x80\xBC"), "\xE5\xB0\x8F\xE5\x80\xBC");
  EXPECT_EQ(Printable("\xE2\x80\xAEgpj"), "_gpj");               // right-to-left override
  EXPECT_EQ(Printable("a\xFF\xC0\x80\xED\xA0\x80"), "a______");  // not UTF-8
  EXPECT_EQ(Printable(std::string("a\0b", 3)), "a_b");
  EXPECT_EQ(Printable("\xC2\x85"), "_");  // C1 next line
}

TEST(Text, ShortensLongTexts) {
  EXPECT_EQ(Excerpt("short"), "short");
  EXPECT_EQ(Excerpt("0123456789", 4), "01...89");
  EXPECT_EQ(Excerpt("\xE5\xB0\x8F\xE5\x80\xBC\xE5\x9F\x9F", 4), "...");  // never cuts a character
}

TEST(Text, SplitsAndJoins) {
  EXPECT_EQ(Split("a..b", '.'), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(Split("", '.'), (std::vector<std::string_view>{""}));
  EXPECT_EQ(Join({"a", "b"}, ", "), "a, b");
  EXPECT_EQ(Trim(" \t a b\r\n"), "a b");
}

}  // namespace
}  // namespace msprobe
