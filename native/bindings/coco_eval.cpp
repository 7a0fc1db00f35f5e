// What a drop-in for COCO's own evaluator calls.
#include <algorithm>

#include "arrays.hpp"
#include "boxes/coco_eval.hpp"

namespace steelyard::coco_eval_binding {
namespace {

Tuple<Out<std::int32_t>, Out<std::int32_t>> match_cell_arrays(In1<std::int64_t> d_begin, In1<std::int64_t> t_begin,
                                                              In1<double> ious, In2<std::uint8_t> t_ignored,
                                                              In1<std::uint8_t> crowd, In1<std::uint8_t> takes,
                                                              In1<double> thresholds, long threads) {
  const Cells cells{view(d_begin), view(t_begin), view(ious),      view(t_ignored),
                    view(crowd),   view(takes),   view(thresholds)};
  check_cells(cells);
  const std::size_t areas = t_ignored.shape(0), count = thresholds.shape(0);
  std::int32_t *d_match, *t_match;
  auto d_out = make_raw<std::int32_t>({areas, count, takes.shape(0)}, d_match);
  auto t_out = make_raw<std::int32_t>({areas, count, crowd.shape(0)}, t_match);
  {
    nb::gil_scoped_release release;
    match_cells(cells, threads, d_match, t_match);
  }
  return nb::make_tuple(d_out, t_out);
}

Tuple<Out<double>, Out<double>, Out<double>> reference_curve_arrays(In1<std::int64_t> order, In1<double> score,
                                                                    In2<std::uint8_t> hit, In2<std::uint8_t> ignored,
                                                                    double positives, In1<double> recalls,
                                                                    long threads) {
  const ReferenceRanking in{view(order), view(score), view(hit), view(ignored), positives, view(recalls)};
  check_reference(in);
  const std::size_t T = hit.shape(0), R = recalls.shape(0);
  double *p, *s, *r;
  auto precision = make_array<double>({T, R}, p);
  auto scores = make_array<double>({T, R}, s);
  auto recall = make_array<double>({T}, r);
  {
    nb::gil_scoped_release release;
    reference_curves(in, threads, p, s, r);
  }
  return nb::make_tuple(precision, recall, scores);
}

Tuple<Out<double>, Out<double>, Out<double>> score_cell_arrays(
    In1<std::int64_t> d_begin, In1<std::int64_t> t_begin, In1<double> ious, In2<std::uint8_t> t_ignored,
    In1<std::uint8_t> crowd, In1<std::uint8_t> takes, In1<double> thresholds, In1<std::int64_t> category,
    In1<double> score, In2<std::uint8_t> d_outside, In1<std::uint8_t> t_counts, In1<std::int64_t> limits,
    In1<double> recalls, std::size_t categories, long threads) {
  const ScoredCells in{
      {view(d_begin), view(t_begin), view(ious), view(t_ignored), view(crowd), view(takes), view(thresholds)},
      view(category),
      view(score),
      view(d_outside),
      view(t_counts),
      view(limits),
      view(recalls),
      categories};
  check_scored(in);
  const std::size_t A = t_ignored.shape(0), M = limits.shape(0), T = thresholds.shape(0), R = recalls.shape(0);
  double *p, *s, *r;
  auto precision = make_raw<double>({T, R, categories, A, M}, p);
  auto scores = make_raw<double>({T, R, categories, A, M}, s);
  auto recall = make_raw<double>({T, categories, A, M}, r);
  {
    nb::gil_scoped_release release;
    score_cells(in, threads, p, s, r);
  }
  return nb::make_tuple(precision, recall, scores);
}

Out<std::int32_t> order_cell_array(In1<std::int32_t> category, In1<std::int32_t> image, In1<double> score,
                                   std::size_t categories, std::size_t images, bool by_category) {
  const std::size_t n = image.shape(0);
  require(category.shape(0) == n && (score.shape(0) == n || score.shape(0) == 0), "columns differ in length");
  require(categories < (std::size_t{1} << 32) && images < (std::size_t{1} << 32), "too many categories or images");
  require(n < (std::size_t{1} << 31), "too many rows");
  std::int32_t* out;
  auto order = make_raw<std::int32_t>({n}, out);
  {
    nb::gil_scoped_release release;
    order_cells({view(category), view(image), view(score), categories, images, by_category}, out);
  }
  return order;
}

Out<double> cell_box_iou_array(In1<std::int64_t> d_begin, In1<std::int64_t> t_begin, In1<std::int32_t> d_rows,
                               In1<std::int32_t> t_rows, In2<double> d_box, In2<double> t_box,
                               In1<std::uint8_t> crowd) {
  const CellBoxes in{view(d_begin), view(t_begin), view(d_rows), view(t_rows), view(d_box), view(t_box), view(crowd)};
  const std::size_t pairs = check_cell_boxes(in);
  double* out;
  auto result = make_raw<double>({pairs}, out);
  nb::gil_scoped_release release;
  cell_box_ious(in, out);
  return result;
}

// A value that is a whole number; false where it is not, or does not fit.
bool read_whole(PyObject* value, std::int64_t& out) {
  if (value == nullptr || !PyLong_Check(value) || PyBool_Check(value)) return false;
  int overflow = 0;
  out = PyLong_AsLongLongAndOverflow(value, &overflow);
  return overflow == 0;
}

bool read_real(PyObject* value, double& out) {
  if (value == nullptr || PyBool_Check(value) || !(PyFloat_Check(value) || PyLong_Check(value))) return false;
  out = PyFloat_AsDouble(value);
  if (out == -1.0 && PyErr_Occurred()) {
    PyErr_Clear();
    return false;
  }
  return true;
}

nb::str interned(const char* text) { return nb::steal<nb::str>(PyUnicode_InternFromString(text)); }

// The keys of results: the same objects that code in Python uses, so that they are found without comparing texts.
struct ResultKeys {
  nb::str image = interned("image_id"), category = interned("category_id"), box = interned("bbox");
  nb::str score = interned("score"), area = interned("area"), id = interned("id");
  nb::str segmentation = interned("segmentation"), crowd = interned("iscrowd");
};

PyObject* value_of(PyObject* record, const nb::str& key) {
  PyObject* value = PyDict_GetItemWithError(record, key.ptr());
  if (value == nullptr && PyErr_Occurred()) PyErr_Clear();
  return value;
}

// A number of any kind, NumPy's too.
bool read_any_real(PyObject* value, double& out) {
  if (value == nullptr || PyBool_Check(value) || PyUnicode_Check(value) || PyBytes_Check(value)) return false;
  out = PyFloat_AsDouble(value);
  if (out == -1.0 && PyErr_Occurred()) {
    PyErr_Clear();
    return false;
  }
  return true;
}

// Columns of results that are dicts: image, category, box unless they are of another kind, score and, once they are
// complete, area. None where a record has anything that only Python can read.
nb::object result_columns(nb::list results, bool complete, bool boxes_too) {
  const std::size_t n = results.size();
  const ResultKeys keys;
  std::int64_t *image, *category;
  double *box, *score, *area;
  auto images = make_raw<std::int64_t>({n}, image);
  auto categories = make_raw<std::int64_t>({n}, category);
  auto boxes = make_raw<double>({boxes_too ? n : 0, 4}, box);
  auto scores = make_raw<double>({n}, score);
  auto areas = make_raw<double>({complete ? n : 0}, area);
  for (std::size_t i = 0; i < n; ++i) {
    PyObject* record = PyList_GetItem(results.ptr(), static_cast<Py_ssize_t>(i));
    if (!PyDict_CheckExact(record)) return nb::none();
    PyObject* corners = value_of(record, keys.box);
    if (!read_whole(value_of(record, keys.image), image[i]) ||
        !read_whole(value_of(record, keys.category), category[i]) || !read_real(value_of(record, keys.score), score[i]))
      return nb::none();
    if (boxes_too && (corners == nullptr || !PyList_CheckExact(corners) || PyList_Size(corners) != 4))
      return nb::none();
    for (Py_ssize_t side = 0; boxes_too && side < 4; ++side) {
      if (!read_real(PyList_GetItem(corners, side), box[4 * i + static_cast<std::size_t>(side)])) return nb::none();
    }
    std::int64_t id = 0;
    if (complete && (!read_any_real(value_of(record, keys.area), area[i]) ||
                     !read_whole(value_of(record, keys.id), id) || id != static_cast<std::int64_t>(i) + 1))
      return nb::none();
  }
  return nb::make_tuple(images, categories, boxes, scores, complete ? nb::cast(areas) : nb::none());
}

nb::object checked(PyObject* value) {
  if (value == nullptr) throw nb::python_error();
  return nb::steal(value);
}

nb::object sum_of(PyObject* a, PyObject* b) {
  if (PyFloat_CheckExact(a) && PyFloat_CheckExact(b))
    return checked(PyFloat_FromDouble(PyFloat_AsDouble(a) + PyFloat_AsDouble(b)));
  return checked(PyNumber_Add(a, b));
}

nb::object product_of(PyObject* a, PyObject* b) {
  if (PyFloat_CheckExact(a) && PyFloat_CheckExact(b))
    return checked(PyFloat_FromDouble(PyFloat_AsDouble(a) * PyFloat_AsDouble(b)));
  return checked(PyNumber_Multiply(a, b));
}

// A list of exactly these values. It holds numbers, or a list of them: the collector of cycles need not walk it.
nb::object list_of(std::initializer_list<PyObject*> values) {
  nb::object list = checked(PyList_New(static_cast<Py_ssize_t>(values.size())));
  Py_ssize_t place = 0;
  for (PyObject* value : values) {
    Py_INCREF(value);
    PyList_SetItem(list.ptr(), place++, value);
  }
  PyObject_GC_UnTrack(list.ptr());
  return list;
}

// Gives results that `result_columns` has read what the reference gives them: a polygon, an area, a number, no crowd.
std::size_t complete_results(nb::list results) {
  const ResultKeys keys;
  const nb::int_ zero(0);
  const auto set = [](nb::handle record, const nb::str& key, nb::handle value) {
    if (PyDict_SetItem(record.ptr(), key.ptr(), value.ptr()) != 0) throw nb::python_error();
  };
  std::size_t number = 0;
  for (nb::handle record : results) {
    PyObject* found = PyDict_CheckExact(record.ptr()) ? value_of(record.ptr(), keys.box) : nullptr;
    require(found != nullptr && PyList_CheckExact(found) && PyList_Size(found) == 4, "a result must have a box");
    nb::object corners[4];  // held: adding numbers of other classes may run code
    for (Py_ssize_t side = 0; side < 4; ++side) {
      corners[side] = nb::borrow(PyList_GetItem(found, side));
      double number_only;
      require(read_real(corners[side].ptr(), number_only), "a box must have four numbers");
    }
    PyObject *x = corners[0].ptr(), *y = corners[1].ptr(), *w = corners[2].ptr(), *h = corners[3].ptr();
    if (value_of(record.ptr(), keys.segmentation) == nullptr) {
      const nb::object right = sum_of(x, w), low = sum_of(y, h);
      const nb::object ring = list_of({x, y, x, low.ptr(), right.ptr(), low.ptr(), right.ptr(), y});
      set(record, keys.segmentation, list_of({ring.ptr()}));
    }
    set(record, keys.area, product_of(w, h));
    set(record, keys.id, nb::int_(++number));
    set(record, keys.crowd, zero);
  }
  return number;
}

}  // namespace

void bind(nb::module_& m) {
  m.def("result_columns", &result_columns, nb::arg("results"), nb::arg("complete"), nb::arg("boxes") = true,
        "Image, category, box, score and area of results that are dicts, or None where only Python can read them.");
  m.def("complete_results", &complete_results, nb::arg("results"),
        "Add polygon, area, id and crowd flag to results that `result_columns` has read; their number.");
  m.def("match_cells", &match_cell_arrays, nb::arg("d_begin").noconvert(), nb::arg("t_begin").noconvert(),
        nb::arg("ious").noconvert(), nb::arg("t_ignored").noconvert(), nb::arg("crowd").noconvert(),
        nb::arg("takes").noconvert(), nb::arg("thresholds").noconvert(), nb::arg("threads") = 0,
        "Rows of the matched truths (areas, thresholds, detections) and detections (areas, thresholds, truths); -1: "
        "none.");
  m.def("score_cells", &score_cell_arrays, nb::arg("d_begin").noconvert(), nb::arg("t_begin").noconvert(),
        nb::arg("ious").noconvert(), nb::arg("t_ignored").noconvert(), nb::arg("crowd").noconvert(),
        nb::arg("takes").noconvert(), nb::arg("thresholds").noconvert(), nb::arg("category").noconvert(),
        nb::arg("score").noconvert(), nb::arg("d_outside").noconvert(), nb::arg("t_counts").noconvert(),
        nb::arg("limits").noconvert(), nb::arg("recalls").noconvert(), nb::arg("categories"), nb::arg("threads") = 0,
        "Precision (thresholds, recalls, categories, areas, limits), last recall and scores as pycocotools "
        "accumulates them; -1 where no truth counts.");
  m.def("order_cells", &order_cell_array, nb::arg("category").noconvert(), nb::arg("image").noconvert(),
        nb::arg("score").noconvert(), nb::arg("categories"), nb::arg("images"), nb::arg("by_category"),
        "Rows by cell, and in a cell by falling score.");
  m.def("cell_box_ious", &cell_box_iou_array, nb::arg("d_begin").noconvert(), nb::arg("t_begin").noconvert(),
        nb::arg("d_rows").noconvert(), nb::arg("t_rows").noconvert(), nb::arg("d_box").noconvert(),
        nb::arg("t_box").noconvert(), nb::arg("crowd").noconvert(), "IoU of all pairs in each cell, flat.");
  m.def("reference_curves", &reference_curve_arrays, nb::arg("order").noconvert(), nb::arg("score").noconvert(),
        nb::arg("hit").noconvert(), nb::arg("ignored").noconvert(), nb::arg("positives"),
        nb::arg("recalls").noconvert(), nb::arg("threads") = 0,
        "Precision, last recall and scores as pycocotools accumulates them.");
}

}  // namespace steelyard::coco_eval_binding
