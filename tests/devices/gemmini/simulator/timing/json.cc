#include "json.h"

#include <cctype>
#include <stdexcept>

namespace npu::gemmini::testing {
namespace {

class Reader {
 public:
  explicit Reader(const std::string& text) : text_(text) {}

  Json value() {
    Json json;
    const char first = next();
    if (first == '{') {
      ++position_;
      while (more('}')) {
        const std::string key = string();
        expect(':');
        json.fields[key] = value();
      }
    } else if (first == '[') {
      ++position_;
      while (more(']')) json.items.push_back(value());
    } else if (first == '"') {
      json.text = string();
    } else if (text_.compare(position_, 4, "null") == 0) {
      position_ += 4;
    } else {
      json.number = number();
    }
    return json;
  }

  void finish() {
    while (position_ < text_.size() && std::isspace(text_[position_]) != 0) ++position_;
    if (position_ != text_.size()) fail("the end");
  }

 private:
  char next() {
    while (position_ < text_.size() && std::isspace(text_[position_]) != 0) ++position_;
    if (position_ == text_.size()) fail("a value");
    return text_[position_];
  }
  // Whether another element follows; passes the comma before it, or the end.
  bool more(char end) {
    if (next() == end) {
      ++position_;
      return false;
    }
    if (text_[position_] == ',') ++position_;
    return true;
  }
  void expect(char wanted) {
    if (next() != wanted) fail(std::string("'") + wanted + "'");
    ++position_;
  }
  std::string string() {
    expect('"');
    const size_t start = position_;
    while (position_ < text_.size() && text_[position_] != '"') ++position_;
    if (position_ == text_.size()) fail("'\"'");
    return text_.substr(start, position_++ - start);
  }
  int64_t number() {
    const size_t start = position_;
    if (text_[position_] == '-') ++position_;
    while (position_ < text_.size() && std::isdigit(text_[position_]) != 0) ++position_;
    if (position_ == start) fail("a value");
    return std::stoll(text_.substr(start, position_ - start));
  }
  [[noreturn]] void fail(const std::string& needed) const {
    throw std::runtime_error("JSON: needs " + needed + " at position " + std::to_string(position_));
  }

  const std::string& text_;
  size_t position_ = 0;
};

}  // namespace

Json Json::parse(const std::string& text) {
  Reader reader(text);
  Json json = reader.value();
  reader.finish();
  return json;
}

const Json& Json::at(const std::string& field) const {
  const auto found = fields.find(field);
  if (found == fields.end()) throw std::runtime_error("JSON: needs the field " + field);
  return found->second;
}

}  // namespace npu::gemmini::testing
