"""Clusters, strata and proxies that are spoiled."""

from __future__ import annotations

from typing import Any

from hostile.rows import LABELS, LABELS_P, Row, good, row

PEOPLE = "dish,item,weight,person,light\nA,1,100,p,lit\nA,2,50,p,lit\nB,1,200,q,dark\nC,1,80,q,lit\n"
GUESSES = "dish,item,weight\nA,1,110\nA,2,40\nB,1,150\nC,1,90\n"
JUDGE = "id,label\n1,cat\n2,dog\n3,dog\n4,dog\n5,cat\n6,dog\n"
ALL_P = LABELS_P + "5,cat\n6,cat\n"


def people(name: str, options: str, *says: str, text: str = PEOPLE, command: str = "evaluate", **more: Any) -> Row:
    """Weights of people's dishes."""
    line = f"{command} weights truth.csv pred.csv {'pred.csv ' if command == 'compare' else ''}-m mae {options} -o out.json"
    return row(f"groups: {name}", line, *says, files={"truth.csv": text, "pred.csv": GUESSES}, **more)


def judged(name: str, options: str, *says: str, truth: str = LABELS, judge: str = JUDGE, **more: Any) -> Row:
    """Labels of four rows, and a judge on six."""
    files = {"truth.csv": truth, "pred.csv": ALL_P, "judge.csv": judge}
    return row(
        f"proxy: {name}", f"evaluate labels truth.csv pred.csv -m accuracy {options} -o out.json", *says,
        files=files, **more,
    )  # fmt: skip


ROWS: list[Row] = [
    people("cluster that is unknown", "--cluster persn", "truth.csv", "'persn'", "--cluster", "'person'"),
    people("cluster that is unknown, compared", "--cluster persn", "'persn'", "'person'", command="compare"),
    people("strata that are unknown", "--strata lihgt", "truth.csv", "'lihgt'", "--strata", "'light'"),
    people("cluster of no name", "--cluster ''", "cluster is ''"),
    people("cluster that is empty in a row", "--cluster person", "dish 'B' has no value", "'person'",
           text=PEOPLE.replace("200,q", "200,")),
    people("cluster of blanks", "--cluster person", "dish 'B' has no value", text=PEOPLE.replace("200,q", "200,   ")),
    people("cluster that varies in a unit", "--cluster person", "dish 'A' has both 'p' and 'r'",
           text=PEOPLE.replace("50,p", "50,r")),
    people("cluster in two strata", "--cluster person --strata light", "person 'q' lies in two strata", "'dark'"),
    people("cluster that is the strata", "--cluster person --strata person", "both cluster and strata"),
    people("cluster of a million characters", "--cluster person", "clusters", code=0, writes=("out.json",),
           text=PEOPLE.replace(",p,", f",{'p' * 100_000},")),
    people("cluster with escape sequences", "--cluster person", "clusters", code=0, writes=("out.json",),
           text=PEOPLE.replace(",p,", ",\x1b[2Jp,")),
    people("all units in one cluster", "--cluster person", "no interval", code=0, writes=("out.json",),
           text=PEOPLE.replace(",q,", ",p,")),
    people("all units in one stratum each", "--strata dish", "joined", code=0, writes=("out.json",)),
    row("groups: cluster of boxes without columns", "evaluate boxes truth.json pred.json --cluster video -o out.json",
        "truth.json", "'video'", "--cluster", files=good("boxes")),
    judged("that is not there", "--proxy nowhere.csv", "nowhere.csv", "no such file"),
    judged("that is not a column", "--proxy judge", "truth.csv", "'judge'", "neither a file nor a column"),
    judged("that is empty", "--proxy judge.csv", "judge.csv", judge=""),
    judged("without rows", "--proxy judge.csv", "judge.csv", "no rows", judge="id,label\n"),
    judged("without its label", "--proxy judge.csv", "judge.csv", "label", judge="id,lable\n1,cat\n"),
    judged("of other units", "--proxy judge.csv --extra skip --missing worst", "judge.csv", "no unit of truth.csv",
           judge="id,label\nx,cat\ny,dog\n"),
    judged("that lacks a labelled unit", "--proxy judge.csv --extra skip", "judge.csv", "unit '3' of truth.csv",
           judge=JUDGE.replace("3,dog\n", "")),
    judged("that has no more than the truth", "--proxy truth.csv --extra skip", "adds nothing"),
    judged("whose unit appears twice", "--proxy judge.csv", "judge.csv, line 8", "appears twice", judge=JUDGE + "1,cat\n"),
    judged("that is the truth's own column", "--proxy label", "'label' replaces no true value"),
    judged("whose column has a gap", "--proxy judge", "truth.csv, line 3", "no value in 1 of 2 rows",
           truth="id,label,judge\n1,cat,cat\n2,,\n"),
    judged("without any truth", "--proxy judge", "no row has a value in 'label'",
           truth="id,label,judge\n1,,cat\n2,,dog\n"),
    judged("with slices that it sees otherwise", "--proxy judge.csv --by label", "judge.csv", "unit '3' of truth.csv", "slice 'cat'"),
    judged("with clusters that it sees otherwise", "--proxy judge.csv --cluster label", "judge.csv", "unit '3'", "'cat'", "'dog'"),
    judged("with strata", "--proxy judge.csv --strata label", "--proxy", "--strata"),
    judged("with many files", "--proxy judge.csv --workers 1", "all data in one place"),
    judged("corrected in no way", "--proxy judge.csv --judge-correction rate", "rate", "difference"),
    judged("corrected without a judge", "--judge-correction rates", "no judge", "proxy"),
    judged("no better than chance", "--proxy judge.csv --judge-correction rates", "no better than chance"),
]  # fmt: skip
