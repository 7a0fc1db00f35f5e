// A table as a stream of Arrow's C interface (https://arrow.apache.org/docs/format/CStreamInterface.html): pandas,
// polars, DuckDB and pyarrow take it, and nothing of Arrow is linked. The structures are those of the specification.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

extern "C" {
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};
struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
  int (*get_next)(ArrowArrayStream*, ArrowArray*);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};
}

namespace steelyard {

// One column of a kind: 'u' texts, 'g' numbers, 'l' counts. What is not there is null.
class ArrowColumn {
 public:
  ArrowColumn(std::string name, char kind) : name_(std::move(name)), kind_(kind) {}
  void add_text(const char* text, size_t size);
  void add_number(double value);
  void add_count(int64_t value);
  void add_null();
  const std::string& name() const { return name_; }
  char kind() const { return kind_; }
  int64_t length() const { return length_; }
  int64_t nulls() const { return nulls_; }
  const void* valid() const { return valid_.data(); }
  const void* offsets() const { return offsets_.data(); }
  const void* values() const;

 private:
  void add(char kind);
  void count(bool valid);

  std::string name_;
  char kind_;
  int64_t length_ = 0, nulls_ = 0;
  // Each has one element more than its data, so that there is memory also without rows.
  std::vector<uint8_t> valid_{0};
  std::vector<int64_t> offsets_{0};
  std::vector<char> characters_{0};
  std::vector<double> numbers_{0.0};
  std::vector<int64_t> counts_{0};
};

// A stream of one batch that holds columns of equal length; its `release` frees all. Throws std::invalid_argument.
ArrowArrayStream* arrow_stream(std::vector<ArrowColumn> columns);

}  // namespace steelyard
