// Words that the rules of SPICE know by heart.
#pragma once

#include <string_view>
#include <unordered_set>

namespace steelyard::language {

using Texts = std::unordered_set<std::string_view>;

inline const Texts kSideBySide{
    "across_from", "along_with",  "alongside_of",  "apart_from",      "as_for",         "as_from",
    "as_of",       "as_per",      "as_to",         "aside_from",      "based_on",       "close_by",
    "close_to",    "contrary_to", "compared_to",   "compared_with",   "except_for",     "exclusive_of",
    "far_from",    "followed_by", "inside_of",     "irrespective_of", "next_to",        "near_to",
    "off_of",      "out_of",      "outside_of",    "owing_to",        "preliminary_to", "preparatory_to",
    "previous_to", "pursuant_to", "regardless_of", "subsequent_to",   "thanks_to",      "together_with"};
inline const Texts kNested{"apart_from", "as_from",     "aside_from",  "away_from",     "close_by",
                           "close_to",   "contrary_to", "far_from",    "next_to",       "near_to",
                           "out_of",     "outside_of",  "pursuant_to", "regardless_of", "together_with"};
inline const Texts kThreeWords{"by_means_of", "in_accordance_with", "in_addition_to", "in_case_of",    "in_front_of",
                               "in_lieu_of",  "in_place_of",        "in_spite_of",    "on_account_of", "on_behalf_of",
                               "on_top_of",   "with_regard_to",     "with_respect_to"};
inline const Texts kQuantityWithArticle{
    "lot",      "assortment", "number", "couple", "bunch", "handful",  "litany",  "sheaf", "slew",   "dozen",  "series",
    "variety",  "multitude",  "wad",    "clutch", "wave",  "mountain", "array",   "spate", "string", "ton",    "range",
    "plethora", "heap",       "sort",   "form",   "kind",  "type",     "version", "bit",   "pair",   "triple", "total"};
inline const Texts kQuantity{"lots",       "many",      "several",  "plenty",   "tons", "dozens",
                             "multitudes", "mountains", "loads",    "pairs",    "tens", "hundreds",
                             "thousands",  "millions",  "billions", "trillions"};
inline const Texts kQuantityOfThe{"some", "all",   "both",    "neither",  "everyone", "nobody",  "one",
                                  "two",  "three", "four",    "five",     "six",      "seven",   "eight",
                                  "nine", "ten",   "hundred", "thousand", "million",  "billion", "trillion"};
inline const Texts kOfOne{"i",   "me",  "myself",  "mine", "my", "yourself", "he",  "him", "himself", "his",
                          "she", "her", "herself", "hers", "it", "itself",   "its", "one", "oneself", "one's"};

// Words that the described reading knows beside them.
inline const Texts kNounsInIng{
    "awning",     "bedding",   "being",    "building",  "carving",  "ceiling",  "clearing", "clothing",  "covering",
    "crossing",   "cutting",   "dining",   "dressing",  "drawing",  "dwelling", "earring",  "engraving", "evening",
    "everything", "filling",   "frosting", "gathering", "icing",    "king",     "landing",  "lettering", "lighting",
    "living",     "marking",   "meeting",  "morning",   "nothing",  "offering", "opening",  "painting",  "parking",
    "paving",     "pudding",   "railing",  "rigging",   "ring",     "roofing",  "seating",  "setting",   "shopping",
    "siding",     "something", "spring",   "sterling",  "stocking", "string",   "stuffing", "swing",     "thing",
    "topping",    "trimming",  "tubing",   "wedding",   "wing",     "wiring",   "anything"};
inline const Texts kCollectives{"group", "herd", "flock", "crowd", "pack", "team",       "gang",  "band",
                                "bunch", "row",  "line",  "pair",  "set",  "collection", "family"};
// Participles that say no more than that a thing is there: the preposition alone is the relation.
inline const Texts kPlaced{"anchor",  "arrange", "display", "dock",     "find",       "gather",  "group",
                           "hang",    "huddle",  "install", "keep",     "lay",        "leave",   "locate",
                           "moor",    "mount",   "park",    "perch",    "photograph", "picture", "pile",
                           "place",   "plant",   "pose",    "position", "post",       "put",     "rest",
                           "scatter", "seat",    "see",     "serve",    "set",        "show",    "situate",
                           "spread",  "stack",   "station", "stop",     "store",      "view"};
// Nouns that are read as verbs before a participle, verbs that stand there, and verbs whose object is read as a verb.
inline const Texts kNounsLikeVerbs{"bear",   "bears",  "boards", "boats", "boxes", "buses",  "lamps",  "lights",
                                   "plants", "planes", "ships",  "signs", "sinks", "trains", "trucks", "tubs"};
inline const Texts kPlainVerbs{"are",  "come", "do",   "enjoy", "go",  "have",  "keep",  "lay",  "lie",  "look",
                               "play", "pose", "ride", "run",   "sit", "stand", "start", "stop", "wait", "walk"};
inline const Texts kTaking{"carrying", "eating", "holding", "making", "using", "wearing"};
inline const Texts kPairs{"clothes", "glasses",  "goggles", "jeans",  "pants",
                          "pliers",  "scissors", "series",  "shorts", "skis"};
// Verbs that only link an adjective to its noun: "looks happy", "is getting ready".
inline const Texts kLinking{"appear", "become", "feel", "get", "look", "remain", "seem", "stay"};
inline const Texts kContainers{
    "bag",   "basket", "bottle", "bouquet", "bowl",   "box",     "bucket", "can",     "container", "cup",     "dish",
    "glass", "jar",    "mug",    "pan",     "piece",  "pile",    "plate",  "platter", "pot",       "slice",   "stack",
    "tray",  "vase",   "bowls",  "cups",    "plates", "glasses", "slices", "pieces",  "vases",     "baskets", "boxes"};
// What only a living being does, and words for such.
inline const Texts kActs{"brushing", "carrying",  "catching", "cooking", "cutting", "drinking", "eating",   "feeding",
                         "hitting",  "holding",   "jumping",  "kicking", "looking", "making",   "petting",  "playing",
                         "posing",   "preparing", "reading",  "riding",  "running", "smiling",  "swinging", "taking",
                         "talking",  "throwing",  "trying",   "using",   "waiting", "walking",  "watching", "wearing"};
inline const Texts kBeings{
    "adult",     "adults",   "animal", "animals", "athlete", "baby",         "batter",   "bear",    "bears",
    "bird",      "birds",    "boy",    "boys",    "bride",   "cat",          "catcher",  "cats",    "chef",
    "child",     "children", "couple", "cow",     "cows",    "crowd",        "dog",      "dogs",    "elephant",
    "elephants", "family",   "female", "girl",    "girls",   "giraffe",      "giraffes", "goat",    "group",
    "guy",       "guys",     "horse",  "horses",  "kid",     "kids",         "kitten",   "lady",    "ladies",
    "male",      "man",      "men",    "monkey",  "officer", "people",       "person",   "pitcher", "player",
    "players",   "puppy",    "rider",  "riders",  "sheep",   "skateboarder", "skier",    "skiers",  "snowboarder",
    "soldier",   "someone",  "surfer", "surfers", "toddler", "woman",        "women",    "worker",  "zebra",
    "zebras"};
inline const Texts kParticles{"up",   "down",   "out",      "off", "over", "away",
                              "back", "around", "together", "on",  "in",   "along"};

}  // namespace steelyard::language
