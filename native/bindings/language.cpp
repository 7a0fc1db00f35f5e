// Bindings of the language layer. Texts cross the boundary as one block of bytes and the end of each text in it.
#include <algorithm>
#include <limits>
#include <span>

#include "arrays.hpp"
#include "language/language.hpp"
#include "language/meteor.hpp"
#include "language/ngrams.hpp"
#include "language/parser.hpp"
#include "support/pool.hpp"
#include "language/ptb.hpp"
#include "language/replies.hpp"
#include "language/scene_match.hpp"

namespace steelyard::language_binding {
namespace {

using language::Lemmas;
using language::ParserModel;
using language::WordNet;

std::string_view view(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

// The texts of a block; their ends must not go backwards or beyond it.
std::vector<std::string_view> texts_of(const nb::bytes& block, In1<std::int64_t> ends) {
  std::vector<std::string_view> texts(ends.shape(0));
  const std::string_view all = view(block);
  std::int64_t start = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::int64_t end = ends.data()[i];
    require(end >= start && end <= static_cast<std::int64_t>(all.size()), "ends must grow and stay inside the block");
    texts[i] = all.substr(static_cast<std::size_t>(start), static_cast<std::size_t>(end - start));
    start = end;
  }
  return texts;
}

// Texts as one block with their ends.
Tuple<nb::bytes, Out<std::int64_t>> block_of(const std::vector<std::string>& texts) {
  std::int64_t* end;
  auto ends = make_array<std::int64_t>({texts.size()}, end);
  std::string all;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    all += texts[i];
    end[i] = static_cast<std::int64_t>(all.size());
  }
  return nb::make_tuple(nb::bytes(all.data(), all.size()), ends);
}

void render(const std::vector<language::Tuple>& tuples, std::string& out) {
  for (const auto& tuple : tuples) {
    if (!out.empty()) out += '\n';
    for (int k = 0; k < tuple.size; ++k) {
      if (k) out += '\t';
      out += tuple.part[k];
    }
  }
}

// The box of each reply that has a usual form, and nan for all others.
Out<double> usual_boxes(nb::list texts) {
  double* out;
  auto boxes = make_array<double>({texts.size(), 4}, out);
  for (std::size_t i = 0; i < texts.size(); ++i, out += 4) {
    std::fill_n(out, 4, std::numeric_limits<double>::quiet_NaN());
    PyObject* item = PyList_GetItem(texts.ptr(), static_cast<Py_ssize_t>(i));  // borrowed; the list keeps it
    require(item && PyUnicode_Check(item), "replies must be texts");
    Py_ssize_t size = 0;
    const char* data = PyUnicode_AsUTF8AndSize(item, &size);
    if (!data) {  // half a surrogate pair
      PyErr_Clear();
      continue;
    }
    if (const auto box = language::usual_box({data, static_cast<std::size_t>(size)})) std::copy_n(box->begin(), 4, out);
  }
  return boxes;
}

Out<std::int32_t> scene_scores(const WordNet& wordnet, nb::bytes candidates, In1<std::int64_t> candidate_ends,
                               nb::bytes references, In1<std::int64_t> reference_ends, bool synonyms, long threads) {
  const auto a = texts_of(candidates, candidate_ends), b = texts_of(references, reference_ends);
  require(a.size() == b.size(), "there must be one text of reference tuples for each candidate");
  std::int32_t* out;
  auto result = make_array<std::int32_t>({a.size(), static_cast<std::size_t>(language::kCategories), 4}, out);
  nb::gil_scoped_release release;
  language::scene_scores(synonyms ? &wordnet : nullptr, a, b, thread_count(threads), out);
  return result;
}

// A dependency tree as lines "word TAB tag TAB head TAB relation"; gives its tuples.
std::string tuples_of_tree(const Lemmas& lemmas, std::string_view tree, bool described) {
  std::vector<language::Word> words;
  while (!tree.empty()) {
    const std::size_t end = std::min(tree.find('\n'), tree.size());
    std::string_view line = tree.substr(0, end), field[4];
    tree.remove_prefix(std::min(end + 1, tree.size()));
    for (auto& f : field) {
      const std::size_t tab = std::min(line.find('\t'), line.size());
      f = line.substr(0, tab);
      line.remove_prefix(std::min(tab + 1, line.size()));
    }
    std::int32_t head = 0;
    for (char c : field[2]) {
      require(c >= '0' && c <= '9' && head < 100000, "a head must be the number of a word, or 0");
      head = head * 10 + (c - '0');
    }
    words.push_back({field[0], field[1], language::relation_of(field[3]), head, field[3]});
  }
  for (const auto& word : words) {
    require(word.head <= static_cast<std::int32_t>(words.size()), "a head must be the number of a word, or 0");
  }
  std::string out;
  render(described ? language::described_tuples(words, lemmas) : language::scene_tuples(words, lemmas), out);
  return out;
}

Tuple<nb::bytes, Out<std::int64_t>> tree_tuples(const Lemmas& lemmas, nb::bytes trees, In1<std::int64_t> ends,
                                                bool described) {
  const auto texts = texts_of(trees, ends);
  std::vector<std::string> out(texts.size());
  {
    nb::gil_scoped_release release;
    for (std::size_t i = 0; i < texts.size(); ++i) out[i] = tuples_of_tree(lemmas, texts[i], described);
  }
  return block_of(out);
}

// What `make` gives for each text, made in parallel.
template <typename Make>
Tuple<nb::bytes, Out<std::int64_t>> for_each_text(const nb::bytes& block, In1<std::int64_t> ends, long threads,
                                                  Make make) {
  const auto texts = texts_of(block, ends);
  std::vector<std::string> out(texts.size());
  {
    nb::gil_scoped_release release;
    constexpr std::size_t kBlock = 64;
    parallel_for((texts.size() + kBlock - 1) / kBlock, thread_count(threads), [&](std::size_t b) {
      for (std::size_t i = b * kBlock; i < std::min(texts.size(), (b + 1) * kBlock); ++i) out[i] = make(texts[i]);
    });
  }
  return block_of(out);
}

// What `add` makes of the sentences of each text, made in parallel.
template <typename Add>
Tuple<nb::bytes, Out<std::int64_t>> for_each_parsed(const ParserModel& model, const nb::bytes& block,
                                                    In1<std::int64_t> ends, long threads, Add add) {
  const auto texts = texts_of(block, ends);
  std::vector<std::string> out(texts.size());
  {
    nb::gil_scoped_release release;
    constexpr std::size_t kBlock = 64;
    parallel_for((texts.size() + kBlock - 1) / kBlock, thread_count(threads), [&](std::size_t b) {
      const std::size_t from = b * kBlock, count = std::min(texts.size() - from, kBlock);
      model.parse(std::span(texts).subspan(from, count),
                  [&](std::size_t t, std::span<const language::Word> words) { add(words, out[from + t]); });
    });
  }
  return block_of(out);
}

Tuple<nb::bytes, Out<std::int64_t>> caption_tuples(const ParserModel& model, const Lemmas& lemmas, nb::bytes texts,
                                                   In1<std::int64_t> ends, long threads, bool described) {
  return for_each_parsed(model, texts, ends, threads, [&](std::span<const language::Word> words, std::string& out) {
    render(described ? language::described_tuples(words, lemmas) : language::scene_tuples(words, lemmas), out);
  });
}

Tuple<nb::bytes, Out<std::int64_t>> caption_trees(const ParserModel& model, nb::bytes texts, In1<std::int64_t> ends,
                                                  long threads) {
  return for_each_parsed(model, texts, ends, threads, [&](std::span<const language::Word> words, std::string& out) {
    const auto before = out.empty() ? 0 : static_cast<std::int32_t>(std::count(out.begin(), out.end(), '\n')) + 1;
    for (const auto& word : words) {
      if (!out.empty()) out += '\n';
      const std::int32_t head = word.head ? before + word.head : 0;
      out.append(word.text).append("\t").append(word.tag).append("\t").append(std::to_string(head)).append("\t");
      out.append(word.relation_name);
    }
  });
}

std::vector<std::size_t> starts_of(In1<std::int64_t> starts, std::size_t candidates, std::size_t references) {
  require(starts.shape(0) == candidates + 1, "there must be one start of references more than candidates");
  std::vector<std::size_t> start(starts.shape(0));
  for (std::size_t i = 0; i < start.size(); ++i) {
    const std::int64_t s = starts.data()[i];
    require(s >= 0 && s <= static_cast<std::int64_t>(references) && (i == 0 ? s == 0 : s >= starts.data()[i - 1]),
            "starts of references must begin at 0, grow and stay inside");
    start[i] = static_cast<std::size_t>(s);
  }
  require(start.back() == references, "every reference must belong to a candidate");
  return start;
}

Out<double> ngram_overlap(nb::bytes candidates, In1<std::int64_t> candidate_ends, nb::bytes references,
                          In1<std::int64_t> reference_ends, In1<std::int64_t> starts, long threads) {
  const auto a = texts_of(candidates, candidate_ends), b = texts_of(references, reference_ends);
  const auto start = starts_of(starts, a.size(), b.size());
  double* out;
  auto result = make_array<double>({a.size(), static_cast<std::size_t>(language::kOverlaps)}, out);
  nb::gil_scoped_release release;
  language::ngram_overlap({a, b, start}, thread_count(threads), out);
  return result;
}

Out<double> meteor_counts(const WordNet& wordnet, nb::bytes candidates, In1<std::int64_t> candidate_ends,
                          nb::bytes references, In1<std::int64_t> reference_ends, In1<std::int64_t> starts,
                          long threads) {
  const auto a = texts_of(candidates, candidate_ends), b = texts_of(references, reference_ends);
  const auto start = starts_of(starts, a.size(), b.size());
  double* out;
  auto result = make_array<double>({a.size(), static_cast<std::size_t>(language::kMeteorColumns)}, out);
  nb::gil_scoped_release release;
  language::meteor_counts({a, b, start}, wordnet, thread_count(threads), out);
  return result;
}

}  // namespace

void bind(nb::module_& m) {
  nb::class_<WordNet>(m, "WordNet", "Synsets of words, from the table that tools/build_wordnet.py writes.")
      .def(
          "__init__", [](WordNet* self, nb::bytes table) { new (self) WordNet(view(table)); }, nb::arg("table"))
      .def(
          "similar",
          [](const WordNet& self, nb::bytes word) {
            const auto ids = self.similar(view(word));
            std::uint32_t* out;
            auto result = make_array<std::uint32_t>({ids.size()}, out);
            std::copy(ids.begin(), ids.end(), out);
            return result;
          },
          nb::arg("word"), "Numbers of the synsets of a word and of its stem.");
  nb::class_<Lemmas>(m, "Lemmas", "Lemmas of words, from the table that tools/build_lemmas.py writes.")
      .def(
          "__init__", [](Lemmas* self, nb::bytes table) { new (self) Lemmas(view(table)); }, nb::arg("table"))
      .def(
          "lemma",
          [](const Lemmas& self, nb::bytes word, nb::bytes tag) {
            const std::string lemma = self.lemma(view(word), view(tag));
            return nb::bytes(lemma.data(), lemma.size());
          },
          nb::arg("word"), nb::arg("tag"), "The lemma of a lower-cased word with a Penn Treebank tag.");
  nb::class_<ParserModel>(m, "ParserModel",
                          "The trained tagger and parser, from the file that tools/train_parser.py writes.")
      .def(
          "__init__", [](ParserModel* self, nb::bytes packed) { new (self) ParserModel(view(packed)); },
          nb::arg("packed"));
  m.def("caption_tuples", &caption_tuples, nb::arg("model"), nb::arg("lemmas"), nb::arg("texts"),
        nb::arg("ends").noconvert(), nb::arg("threads") = 0, nb::arg("described") = false,
        "Scene-graph tuples of tokenised captions, by the original's rules or as they describe the scene.");
  m.def("caption_trees", &caption_trees, nb::arg("model"), nb::arg("texts"), nb::arg("ends").noconvert(),
        nb::arg("threads") = 0, "Dependency trees of tokenised captions, as lines of word, tag, head and relation.");
  m.def(
      "ptb_tokens",
      [](nb::bytes texts, In1<std::int64_t> ends, bool keep_marks, long threads) {
        return for_each_text(texts, ends, threads,
                             [&](std::string_view text) { return language::ptb_tokens(text, keep_marks); });
      },
      nb::arg("texts"), nb::arg("ends").noconvert(), nb::arg("keep_marks") = false, nb::arg("threads") = 0,
      "Penn Treebank tokens of texts, lower-cased and between blanks.");
  m.def("usual_boxes", &usual_boxes, nb::arg("texts"),
        "The four numbers of each reply that is one box in a usual form, and nan for all others.");
  m.def("ngram_overlap", &ngram_overlap, nb::arg("candidates"), nb::arg("candidate_ends").noconvert(),
        nb::arg("references"), nb::arg("reference_ends").noconvert(), nb::arg("starts").noconvert(),
        nb::arg("threads") = 0,
        "Overlap of tokenised captions with their references, one row per image; columns as in ngrams.hpp.");
  m.def("meteor_counts", &meteor_counts, nb::arg("wordnet"), nb::arg("candidates"),
        nb::arg("candidate_ends").noconvert(), nb::arg("references"), nb::arg("reference_ends").noconvert(),
        nb::arg("starts").noconvert(), nb::arg("threads") = 0,
        "METEOR's counts of tokenised captions, one row per image; columns as in meteor.hpp.");
  m.def(
      "snowball_stem",
      [](nb::bytes word) {
        const std::string stem = language::snowball_stem(view(word));
        return nb::bytes(stem.data(), stem.size());
      },
      nb::arg("word"), "The Snowball stem of a lower-cased English word.");
  m.def("tree_tuples", &tree_tuples, nb::arg("lemmas"), nb::arg("trees"), nb::arg("ends").noconvert(),
        nb::arg("described") = false,
        "Scene-graph tuples of dependency trees given as lines of word, tag, head and relation.");
  m.def("scene_scores", &scene_scores, nb::arg("wordnet"), nb::arg("candidates"), nb::arg("candidate_ends").noconvert(),
        nb::arg("references"), nb::arg("reference_ends").noconvert(), nb::arg("synonyms") = true,
        nb::arg("threads") = 0,
        "Numbers of tuples and of matches, [image, category, (candidate, reference, matched, matched one to one)].");
}

}  // namespace steelyard::language_binding
