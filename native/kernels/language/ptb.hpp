// Penn Treebank tokens of a caption: see ptb.cpp.
#pragma once

#include <string>
#include <string_view>

namespace steelyard::language {

// Lower-cased tokens between blanks. `keep_marks` keeps the punctuation that COCO's captions are scored without.
std::string ptb_tokens(std::string_view text, bool keep_marks = false);

}  // namespace steelyard::language
