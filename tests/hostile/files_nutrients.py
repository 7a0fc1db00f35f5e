"""Tables and Nutrition5k's files of nutrients that are spoiled, and options that do not fit."""

from __future__ import annotations

from typing import Any

from hostile.rows import Row, row

TRUTH = "dish,mass,energy,fat,ingredients\na,100,200,10,rice=60|egg=40\nb,200,100,5,bread=200\n"
PRED = TRUTH.replace("100,200,10", "110,190,12")
DISH = "dish_1,200.5,100.0,10.0,20.0,8.0"
GROUP = "ingr_1,rice,60.0,80.0,1.0,15.0,2.0"


def table(name: str, text: str | bytes, *says: str, side: str = "truth.csv", options: str = "", **more: Any) -> Row:
    """A table of which one side is spoiled."""
    files = {"truth.csv": TRUTH, "pred.csv": PRED, side: text}
    return row(f"nutrients, {name}", f"evaluate nutrients truth.csv pred.csv {options}", *says, files=files, **more)


def lines(name: str, *says: str, truth: str = DISH, predicted: str = DISH, options: str = "", **more: Any) -> Row:
    """Files of Nutrition5k, one of them spoiled."""
    files = {"truth.csv": f"{truth}\n", "pred.csv": f"{predicted}\n"}
    return row(f"Nutrition5k, {name}", f"evaluate nutrients truth.csv pred.csv {options}", *says, files=files, **more)


def option(name: str, line: str, *says: str, **more: Any) -> Row:
    return table(f"option, {name}", TRUTH, *says, options=line, **more)


ROWS = [
    table("an empty file", "", "truth.csv", "empty"),
    table("a header alone", TRUTH.partition("\n")[0] + "\n", "truth.csv", "no rows"),
    table("no dish", TRUTH.replace("dish,", "plate,"), "truth.csv", "'dish' is missing"),
    table("no target in common", "dish,salt\na,1\nb,2\n", "no target in common", "salt"),
    table("no target at all", "dish,colour\na,red\nb,blue\n", "no target in common", "truth has none"),
    table("a text for a mass", TRUTH.replace("100,200,10", "heavy,200,10"), "line 2", "'mass'", "not a number"),
    table("a mass below 0", TRUTH.replace("100,200,10", "-1,200,10"), "line 2", "'mass'", "at least 0"),
    table("an infinite energy", TRUTH.replace("100,200,10", "100,inf,10"), "line 2", "'energy'"),
    table("an energy of 1e300", TRUTH.replace("100,200,10", "100,1e300,10"), "line 2", "'energy'", "1e+12"),
    table("a decimal comma", TRUTH.replace("100,200,10", '"1,5",200,10'), "line 2", "'mass'", "comma"),
    table("a unit in the cell", TRUTH.replace("100,200,10", "100 g,200,10"), "line 2", "'100 g'", "not a number"),
    table("a dish twice", TRUTH + "a,1,1,1,rice\n", "line 4", "appears twice"),
    table("a dish that is empty", TRUTH.replace("\nb,", "\n,"), "line 3", "id is empty"),
    table("grams of an ingredient that are a text", TRUTH.replace("rice=60", "rice=much"), "line 2", "'much'", "grams"),
    table("grams of an ingredient below 0", TRUTH.replace("rice=60", "rice=-5"), "line 2", "'-5'", "grams"),
    table("grams of an ingredient that are nan", TRUTH.replace("rice=60", "rice=nan"), "line 2", "'nan'", "grams"),
    table("an ingredient without a name", TRUTH.replace("rice=60", "=60"), "line 2", "'=60' has no name"),
    table("a row that is too long", TRUTH.replace("rice=60|egg=40", "rice,egg"), "line 2", "6 fields"),
    table("bytes", b"dish,mass\na,\xff\xfe\n", "truth.csv"),
    table(
        "a prediction that is empty",
        PRED.replace("110,190,12", "110,,12"),
        "pred.csv, line 2",
        "'energy'",
        "missing",
        side="pred.csv",
    ),
    table(
        "a prediction that is nan",
        PRED.replace("110,190,12", "nan,190,12"),
        "pred.csv, line 2",
        "'mass'",
        side="pred.csv",
    ),
    table(
        "a prediction that is 1e200",
        PRED.replace("110,190,12", "1e200,190,12"),
        "pred.csv, line 2",
        "'mass'",
        "1e+12",
        side="pred.csv",
    ),
    table(
        "a dish without a prediction",
        PRED.replace("\nb,", "\nc,"),
        "truth.csv, line 3",
        "no prediction",
        side="pred.csv",
    ),
    table("items on one side", "dish,item,mass\na,1,5\nb,1,5\n", "'item' is missing", "pred.csv"),
    table(
        "a mapping that no column has", TRUTH, "predicted_mass", options="--map predicted_mass=x", side="x.csv", code=2
    ),
    lines("five fields", "line 1", "5 fields", truth="dish_1,1,2,3,4", options="--format nutrition5k"),
    lines(
        "a text for the energy",
        "line 1",
        "'energy'",
        "not a number",
        truth=f"{DISH}\ndish_2,many,1,1,1,1".replace(DISH, "dish_0,x,1,1,1,1"),
        options="--format nutrition5k",
    ),
    lines("half an ingredient", "line 1", "3 fields behind", truth=f"{DISH},ingr_1,rice,60.0"),
    lines(
        "an ingredient without grams",
        "line 1",
        "'much'",
        "mass of an ingredient",
        truth=f"{DISH},{GROUP.replace('60.0', 'much')}",
    ),
    lines(
        "an ingredient without a name",
        "line 1",
        "no name",
        truth=f"{DISH},{GROUP.replace('rice', '')}",
        predicted=f"{DISH},{GROUP}",
    ),
    lines("a dish twice", "line 2", "appears twice", truth=f"{DISH}\n{DISH}"),
    lines("a quote that does not end", "not readable as CSV", truth=f'{DISH},"'),
    lines("a mass below 0", "line 1", "'mass'", "at least 0", truth=DISH.replace("100.0", "-100.0")),
    lines("other dishes", "no prediction", predicted=DISH.replace("dish_1", "dish_2")),
    lines(
        "a header behind the first line",
        "line 2",
        "not a number",
        truth=f"{DISH}\ndish_id,calories,mass,fat,carb,protein",
    ),
    lines("nothing but blank lines", "empty", truth="\n\n", options="--format nutrition5k"),
    option("a target without a unit", "--target iron", "NAME=UNIT"),
    option("a target without a name", "--target =mg", "NAME=UNIT"),
    option("a target twice", "--target fat=g --target fat=mg", "twice"),
    option("a target that no file has", "--target iron=mg", "'iron' is missing", "truth.csv"),
    option("a target called dish", "--target dish=g", "cannot be called 'dish'"),
    option("a target called mean", "--target mean=g", "cannot be called 'mean'"),
    option("units that cannot be converted", "-O prediction.target=mass=ml", "'ml'", "cannot be converted"),
    option("a format that is not known", "--format excel", "'excel'"),
    option("synonyms that are not there", "--synonyms none.csv", "none.csv"),
    option("a mean of grams", "-m mae(target=mean)", "percentages only"),
    option("a target that the data lack", "-m mae(target=protein)", "no target 'protein'"),
    option("a split without mass", "-m split_mass(target=mass)", "mass has no composition"),
    option("another tool", "--explain nutrition6k", "'nutrition6k'"),
]
