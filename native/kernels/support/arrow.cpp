#include "support/arrow.hpp"

#include <cerrno>
#include <memory>
#include <new>
#include <stdexcept>

namespace steelyard {

void ArrowColumn::add(char kind) {
  if (kind_ != kind) throw std::invalid_argument("column '" + name_ + "' is of another kind");
  count(true);
}

void ArrowColumn::count(bool valid) {
  if (length_ % 8 == 0 && length_ / 8 >= static_cast<int64_t>(valid_.size())) valid_.push_back(0);
  if (valid) valid_[static_cast<size_t>(length_ / 8)] |= static_cast<uint8_t>(1u << (length_ % 8));
  nulls_ += !valid;
  ++length_;
}

void ArrowColumn::add_text(const char* text, size_t size) {
  add('u');
  characters_.insert(characters_.end() - 1, text, text + size);
  offsets_.push_back(static_cast<int64_t>(characters_.size()) - 1);
}

void ArrowColumn::add_number(double value) {
  add('g');
  numbers_.insert(numbers_.end() - 1, value);
}

void ArrowColumn::add_count(int64_t value) {
  add('l');
  counts_.insert(counts_.end() - 1, value);
}

void ArrowColumn::add_null() {
  count(false);
  if (kind_ == 'u') offsets_.push_back(offsets_.back());
  if (kind_ == 'g') numbers_.insert(numbers_.end() - 1, 0.0);
  if (kind_ == 'l') counts_.insert(counts_.end() - 1, 0);
}

const void* ArrowColumn::values() const {
  if (kind_ == 'g') return numbers_.data();
  if (kind_ == 'l') return counts_.data();
  return characters_.data();
}

namespace {

using Columns = std::shared_ptr<const std::vector<ArrowColumn>>;

// What an exported array owns: the data, held alive, and the small arrays of pointers that it shows.
struct ArrayHold {
  Columns columns;
  const void* buffers[3] = {nullptr, nullptr, nullptr};
  std::vector<ArrowArray> parts;
  std::vector<ArrowArray*> children;
};

struct SchemaHold {
  Columns columns;
  char format[2] = {0, 0};
  std::vector<ArrowSchema> parts;
  std::vector<ArrowSchema*> children;
};

template <class Exported, class Hold>
void release(Exported* exported) {
  for (int64_t i = 0; i < exported->n_children; ++i)
    if (exported->children[i]->release) exported->children[i]->release(exported->children[i]);
  delete static_cast<Hold*>(exported->private_data);
  exported->release = nullptr;
}

void export_column(const Columns& columns, size_t place, ArrowArray* out) {
  const ArrowColumn& column = (*columns)[place];
  auto hold = std::make_unique<ArrayHold>();
  hold->columns = columns;
  const bool text = column.kind() == 'u';
  hold->buffers[0] = column.nulls() ? column.valid() : nullptr;
  hold->buffers[1] = text ? column.offsets() : column.values();
  hold->buffers[2] = text ? column.values() : nullptr;
  *out = {column.length(),
          column.nulls(),
          0,
          text ? 3 : 2,
          0,
          hold->buffers,
          nullptr,
          nullptr,
          release<ArrowArray, ArrayHold>,
          hold.get()};
  hold.release();
}

void export_column(const Columns& columns, size_t place, ArrowSchema* out) {
  const ArrowColumn& column = (*columns)[place];
  auto hold = std::make_unique<SchemaHold>();
  hold->columns = columns;
  hold->format[0] = column.kind() == 'u' ? 'U' : column.kind();  // U: texts with long offsets
  *out = {hold->format,
          column.name().c_str(),
          nullptr,
          2 /* nullable */,
          0,
          nullptr,
          nullptr,
          release<ArrowSchema, SchemaHold>,
          hold.get()};
  hold.release();
}

template <class Exported, class Hold>
std::unique_ptr<Hold> export_columns(const Columns& columns) {
  auto hold = std::make_unique<Hold>();
  hold->columns = columns;
  hold->parts.resize(columns->size());
  for (size_t i = 0; i < columns->size(); ++i) hold->children.push_back(&hold->parts[i]);
  for (size_t i = 0; i < columns->size(); ++i) export_column(columns, i, &hold->parts[i]);
  return hold;
}

struct StreamHold {
  Columns columns;
  bool given = false;
};

int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  try {
    const auto& columns = static_cast<StreamHold*>(stream->private_data)->columns;
    auto hold = export_columns<ArrowSchema, SchemaHold>(columns);
    *out = {"+s",
            "",
            nullptr,
            0,
            static_cast<int64_t>(columns->size()),
            hold->children.data(),
            nullptr,
            release<ArrowSchema, SchemaHold>,
            hold.get()};
    hold.release();
    return 0;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

int get_next(ArrowArrayStream* stream, ArrowArray* out) {
  auto* mine = static_cast<StreamHold*>(stream->private_data);
  if (mine->given) {
    *out = {};  // a released array: the end
    return 0;
  }
  try {
    auto hold = export_columns<ArrowArray, ArrayHold>(mine->columns);
    const int64_t rows = mine->columns->empty() ? 0 : mine->columns->front().length();
    *out = {rows,
            0,
            0,
            1,
            static_cast<int64_t>(mine->columns->size()),
            hold->buffers,
            hold->children.data(),
            nullptr,
            release<ArrowArray, ArrayHold>,
            hold.get()};
    hold.release();
    mine->given = true;
    return 0;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

const char* last_error(ArrowArrayStream*) { return nullptr; }

void release_stream(ArrowArrayStream* stream) {
  delete static_cast<StreamHold*>(stream->private_data);
  stream->release = nullptr;
}

}  // namespace

ArrowArrayStream* arrow_stream(std::vector<ArrowColumn> columns) {
  for (const auto& column : columns)
    if (column.length() != columns.front().length())
      throw std::invalid_argument("column '" + column.name() + "' has another length than the first");
  auto hold = std::make_unique<StreamHold>();
  hold->columns = std::make_shared<const std::vector<ArrowColumn>>(std::move(columns));
  auto stream = std::make_unique<ArrowArrayStream>();
  *stream = {get_schema, get_next, last_error, release_stream, hold.get()};
  hold.release();
  return stream.release();
}

}  // namespace steelyard
