"""Evidence packs: what they hold, that they are outcome equal, and that changed numbers and data are outcome."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from support.lazy import lazy
from support.refusal import refuses

import steelyard as sy
from steelyard.packs.manifest import NAME
from steelyard.results.codec import digest_of

jsonschema = lazy("jsonschema")
# Errors of A are 10, 10, 50, 20, 0, 5: their mean is 95 / 6. Those of B are 1, 1, 10, 2, 0, 1: 15 / 6.
ITEMS = [
    ("A", 1, 100, "rice"),
    ("A", 2, 50, "egg"),
    ("B", 1, 200, "rice"),
    ("B", 2, 10, "egg"),
    ("C", 1, 70, "rice"),
    ("C", 2, 30, "egg"),
]
MODELS = {"a": [110, 40, 150, 30, 70, 35], "b": [101, 49, 190, 12, 70, 31]}
EPOCH = "1700000000"  # 2023-11-14T22:13:20Z


def write_data(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    rows = "".join(f"{dish},{item},{weight},{food}\n" for dish, item, weight, food in ITEMS)
    (folder / "truth.csv").write_text(f"dish,item,weight,food\n{rows}")
    for name, weights in MODELS.items():
        rows = "".join(f"{dish},{item},{w}\n" for (dish, item, _, _), w in zip(ITEMS, weights, strict=True))
        (folder / f"{name}.csv").write_text(f"dish,item,weight\n{rows}")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of three kinds and a gate, in `results`, and their data in `data`."""
    folder = tmp_path_factory.mktemp("packs")
    data = folder / "data"
    write_data(data)
    truth, a, b = (str(data / f"{name}.csv") for name in ("truth", "a", "b"))
    report = sy.evaluate("weights", truth, a, ["mae"], by=["food"], draws=100)
    assert report["mae"].value == pytest.approx(95 / 6)
    report.to_json(folder / "results" / "a.json")
    sy.compare("weights", truth, a, b, ["mae"], draws=100).to_json(folder / "results" / "ab.json")
    models = {"a": a, "b": b, "truth": truth}
    sy.compare("weights", truth, models, metrics=["mae"], draws=100).to_json(folder / "results" / "deep" / "board.json")
    sy.gate(str(folder / "results" / "a.json"), ["mae > 30"]).to_json(folder / "results" / "gate.json")
    (folder / "results" / "table.csv").write_text("x\n1\n")
    (folder / "results" / "notes.bin").write_bytes(b"\0")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", EPOCH)
        sy.pack(folder / "results", folder / "pack.zip", data=data, include_data=True, by="A. Person", title="Weights")
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The results and their data at the same relative places, to be changed."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", EPOCH)
    shutil.copytree(made, tmp_path / "copy")
    return tmp_path / "copy"


def members_of(pack: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(pack) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_members(pack: Path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(pack, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def change_member(pack: Path, name: str, content: bytes, *, digest: str | None = None) -> None:
    """Change a member and the manifest with it, as somebody would who hides the change."""
    members = members_of(pack)
    members[name] = content
    manifest = json.loads(members[NAME])
    for member in manifest["members"]:
        if member["name"] == name:
            member |= {"size": len(content), "sha256": f"sha256:{hashlib.sha256(content).hexdigest()}"}
    for result in manifest["results"]:
        if result["member"] == name and digest is not None:
            result["digest"] = digest
    members[NAME] = json.dumps(manifest).encode()
    write_members(pack, members)


@pytest.fixture
def pack(folder: Path) -> Path:
    """A pack with the data in it."""
    return folder / "pack.zip"


def test_a_pack_holds_results_pages_documents_and_data(pack: Path) -> None:
    members = members_of(pack)
    assert list(members) == [
        NAME,
        "data/a.csv",
        "data/b.csv",
        "data/truth.csv",
        "model-card.html",
        "model-card.md",
        "results/a.html",
        "results/a.json",
        "results/ab.html",
        "results/ab.json",
        "results/deep/board.html",
        "results/deep/board.json",
        "results/gate.html",
        "results/gate.json",
        "results/table.csv",
        "test-report.html",
        "test-report.md",
    ]
    manifest = json.loads(members[NAME])
    schema = json.loads((files("steelyard.results") / "schema" / "pack-1.json").read_text(encoding="utf-8"))
    jsonschema.validate(manifest, schema)
    assert manifest["created"] == "2023-11-14T22:13:20Z"
    assert manifest["by"] == "A. Person"
    assert manifest["software"]["steelyard"] == sy.__version__
    assert manifest["notes"] == ["results/notes.bin is not in the pack: it is not a result, page, table or chart."]
    for member in manifest["members"]:
        content = members[member["name"]]
        assert member["size"] == len(content)
        assert member["sha256"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
    with zipfile.ZipFile(pack) as archive:
        assert {info.date_time for info in archive.infolist()} == {(2023, 11, 14, 22, 13, 20)}


def test_documents_have_the_numbers(pack: Path) -> None:
    members = members_of(pack)
    for name in ("test-report.md", "model-card.md"):
        text = members[name].decode()
        assert "| mae | 16 g" in text  # 95 / 6, as its wide interval allows
        assert "To be written by the author" in text
    report = members["test-report.md"].decode()
    for part in ("Purpose", "Who and when", "Data", "Methods", "Results", "Rules", "Limits", "How to check"):
        assert f"## {part}\n" in report
    assert "mae &gt; 30" in report
    assert "results/a.json: Mean absolute error 16 g" in report
    assert "truth is the best of 3 models" in report or "Undecided in Mean absolute error" in report
    assert "bootstrap and jackknife over units (100 draws, seed 0)" in report


def test_the_same_files_at_the_same_time_give_the_same_bytes(folder: Path, pack: Path) -> None:
    again = folder / "again.zip"
    sy.pack(folder / "results", again, data=folder / "data", include_data=True, by="A. Person", title="Weights")
    assert again.read_bytes() == pack.read_bytes()


def test_a_pack_with_its_data_is_equal(pack: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere" / "p.zip"
    moved.parent.mkdir()
    pack.rename(moved)
    shutil.rmtree(tmp_path / "copy")
    outcome = sy.verify(moved)
    assert outcome.ok, outcome
    assert bool(outcome)
    assert outcome.exit_code == 0
    assert [(one.member, one.equal) for one in outcome.results] == [
        ("results/a.json", True),
        ("results/ab.json", True),
        ("results/deep/board.json", True),
        ("results/gate.json", True),
    ]
    assert all(one.compared > 20 for one in outcome.results)
    assert outcome.to_dict()["ok"] is True


def test_data_are_found_in_a_folder(folder: Path) -> None:
    path = folder / "pack.zip"
    manifest = sy.pack(folder / "results", path, data=folder / "data")
    assert [(entry.name, entry.included, len(entry.files)) for entry in manifest.data] == [
        ("a.csv", False, 1),
        ("b.csv", False, 1),
        ("truth.csv", False, 1),
    ]
    assert not any(name.startswith("data/") for name in members_of(path))
    with refuses("E-missing-data", "'a.csv'"):
        sy.verify(path)
    assert sy.verify(path, digests_only=True).ok
    assert sy.verify(path, data=folder / "data").ok
    (folder / "data" / "b.csv").unlink()
    with refuses("E-missing-file", "'b.csv'"):
        sy.verify(path, data=folder / "data")


def test_changed_data_are_found_with_the_numbers_that_they_change(folder: Path) -> None:
    path = folder / "pack.zip"
    sy.pack(folder / "results", path, data=folder / "data")
    truth = folder / "data" / "truth.csv"
    truth.write_text(truth.read_text().replace("B,1,200,rice", "B,1,206,rice"))  # the error of A becomes 56: 101 / 6
    outcome = sy.verify(path, data=folder / "data")
    assert not outcome.ok
    assert outcome.exit_code == 1
    assert list(outcome.changed_data) == ["truth.csv"]
    by_place = {(one.result, one.place): one for one in outcome.changes}
    value = by_place["results/a.json", "scores.mae.value"]
    assert float(value.packed) == pytest.approx(95 / 6)
    assert float(value.repeated) == pytest.approx(101 / 6)
    assert ("results/a.json", "sources.truth.digest") in by_place
    assert ("results/a.json", "slices.food.egg.mae.value") not in by_place  # no egg was changed
    # What changes no number is outcome by its digest alone.
    write_data(folder / "data")
    truth.write_text(truth.read_text() + "\n")
    outcome = sy.verify(path, data=folder / "data")
    assert list(outcome.changed_data) == ["truth.csv"]
    assert outcome.changes == ()
    assert not outcome.ok


def test_a_changed_number_is_found(pack: Path) -> None:
    values = json.loads(members_of(pack)["results/a.json"])
    score = values["body"]["scores"]["mae"]
    score["value"] = score["value"] - 0.5
    # With the old digest, somebody who does not know better.
    change_member(pack, "results/a.json", json.dumps(values).encode())
    outcome = sy.verify(pack)
    assert {one.place for one in outcome.changes if one.result == "results/a.json"} == {"digest", "scores.mae.value"}
    # With all digests made new, somebody who does.
    values["digest"] = digest_of(values)
    change_member(pack, "results/a.json", json.dumps(values).encode(), digest=values["digest"])
    outcome = sy.verify(pack)
    assert [(one.result, one.place) for one in outcome.changes] == [
        ("results/a.json", "scores.mae.value"),
        ("results/gate.json", "verdicts[0].value"),  # the gate is computed from the result in the pack
    ]
    assert float(outcome.changes[0].packed) == pytest.approx(95 / 6 - 0.5)
    assert float(outcome.changes[0].repeated) == pytest.approx(95 / 6)
    assert "15.83" in str(outcome)
    assert sy.verify(pack, tolerance=0.1).ok  # 0.5 of 15.8 is 3 %


def test_values_that_a_newer_version_adds_are_not_compared(pack: Path) -> None:
    values = json.loads(members_of(pack)["results/a.json"])
    del values["body"]["gaps"]
    for score in values["body"]["scores"].values():
        del score["largest_unit"]
    for part in values["body"]["slices"]:
        for score in part["scores"].values():
            del score["largest_unit"]
    values["digest"] = digest_of(values)
    change_member(pack, "results/a.json", json.dumps(values).encode(), digest=values["digest"])
    assert sy.verify(pack).ok


def test_what_cannot_be_repeated_is_named(folder: Path) -> None:
    results = folder / "results"
    memory = {"dish": ["A", "B", "C"], "weight": [1.0, 2.0, 3.0]}
    sy.evaluate("weights", memory, memory, ["mae"], draws=100).to_json(results / "memory.json")
    stored = sy.plan(str(results / "ab.json"))
    stored.to_json(results / "plan.json")
    path = folder / "pack.zip"
    manifest = sy.pack(results, path, data=folder / "data", include_data=True)
    reasons = {one.member: one.not_repeatable for one in manifest.results if one.not_repeatable}
    assert set(reasons) == {"results/memory.json", "results/plan.json"}
    assert "'truth'" in reasons["results/memory.json"]
    outcome = sy.verify(path)
    assert outcome.ok
    assert {one.member for one in outcome.results if one.not_repeated} == set(reasons)


def gate_of_a_comparison(results: Path) -> sy.Gate:
    return sy.gate(str(results / "ab.json"), ["mae > baseline + 100"])


def gate_of_a_model(results: Path) -> sy.Gate:
    return sy.gate(str(results / "deep" / "board.json"), ["mae > baseline + 100"], model="truth", baseline="b")


def gate_on_other_truth(results: Path) -> sy.Gate:
    data = results.parent / "data"
    (data / "other.csv").write_text((data / "truth.csv").read_text().replace("200", "206"))
    sy.evaluate("weights", str(data / "other.csv"), str(data / "b.csv"), ["mae"], draws=100).to_json(results / "b.json")
    own, base = (str(results / f"{name}.json") for name in "ba")
    return sy.gate(own, ["mae > baseline + 100"], baseline=base, other_truth=True)


def gate_of_a_namesake(results: Path) -> sy.Gate:
    """A's error is 95 / 6, and B's, in a file of the same name deeper down, 15 / 6."""
    data = results.parent / "data"
    report = sy.evaluate("weights", str(data / "truth.csv"), str(data / "b.csv"), ["mae"], confidence=None)
    report.to_json(results / "deep" / "a.json")
    gate = sy.gate(str(results / "a.json"), ["mae > 10"])
    assert gate.verdicts[0].value == pytest.approx(95 / 6)
    return gate


@pytest.mark.parametrize("make", [gate_of_a_comparison, gate_of_a_model, gate_on_other_truth, gate_of_a_namesake])
def test_every_gate_is_computed_again(folder: Path, make: Callable[[Path], sy.Gate]) -> None:
    """With the model, the baseline, the truth and the file that it was made with."""
    results = folder / "results"
    make(results).to_json(results / "gate.json")
    sy.pack(results, folder / "gates.zip", data=folder / "data", include_data=True)
    outcome = sy.verify(folder / "gates.zip")
    assert outcome.ok, outcome
    assert {one.member: one.not_repeated for one in outcome.results if one.kind == "gate"} == {"results/gate.json": ""}


def test_several_runs_are_computed_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seeds, annotators, and columns and clusters that lie in a file beside."""
    monkeypatch.chdir(folder)
    data = ["data/a.csv", "data/b.csv", "data/truth.csv"]
    Path("data/kitchen.csv").write_text("id,kitchen\nA,k\nB,k\nC,l\n")
    runs: dict[str, sy.Report | sy.Comparison] = {
        "seeds": sy.evaluate("weights", "data/truth.csv", data, ["mae"], runs="seeds"),
        "compared": sy.compare("weights", "data/truth.csv", data, data[::-1], ["mae"], runs="seeds", pair_runs=True),
        "annotators": sy.evaluate("weights", data, "data/a.csv", ["mae"], runs="annotators"),
        "annotated": sy.compare("weights", data, "data/a.csv", "data/b.csv", ["mae"], runs="annotators"),
        "clusters": sy.evaluate(
            "weights",
            "data/truth.csv",
            "data/a.csv",
            ["mae"],
            cluster="kitchen@data/kitchen.csv",
            by=["kitchen@data/kitchen.csv"],
            draws=100,
        ),
    }
    for name, result in runs.items():
        result.to_json(f"own/{name}.json")
    manifest = sy.pack("own", "own.zip", include_data=True)
    assert {entry.name for entry in manifest.data} == {*data, "data/kitchen.csv"}
    monkeypatch.chdir(folder.parent)
    shutil.rmtree(folder / "data")
    outcome = sy.verify(folder / "own.zip")
    assert outcome.ok, outcome
    assert [one.member for one in outcome.results if one.equal] == sorted(f"results/{name}.json" for name in runs)


def test_files_that_data_name_are_packed_too(folder: Path) -> None:
    """The PNG files of panoptic results lie beside their JSON, and no result names them."""
    from steelyard.cli.demo import copy_sample
    from steelyard.core import catalogue

    sample = catalogue.samples()["panoptic"]
    data = folder / "panoptic"
    copy_sample(sample, data)
    report = sy.evaluate("panoptic", str(data / sample.truth), str(data / sample.a), ["pq"], confidence=None)
    report.to_json(folder / "own" / "pq.json")
    manifest = sy.pack(folder / "own", folder / "pack.zip", include_data=True)
    assert any(entry.name.endswith(".png") for entry in manifest.data)
    shutil.rmtree(data)
    assert sy.verify(folder / "pack.zip").ok


def test_results_that_their_data_do_not_give_are_not_packed(folder: Path) -> None:
    truth = folder / "data" / "truth.csv"
    truth.write_text(truth.read_text().replace("200", "206"))
    with refuses("E-incompatible", "a.json"):
        sy.pack(folder / "results", folder / "new.zip", data=folder / "data")
    assert not (folder / "new.zip").exists()
    manifest = sy.pack(folder / "results", folder / "pack.zip", data=folder / "data", unchecked=True)
    assert not sy.verify(folder / "pack.zip", data=folder / "data").ok
    assert len(manifest.results) == 4


def test_bad_input_of_pack(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = folder / "new.zip"
    with refuses("E-missing-file", "nowhere"):
        sy.pack(folder / "nowhere", out)
    (folder / "none").mkdir()
    with refuses("E-empty-input"):
        sy.pack(folder / "none", out)
    shutil.rmtree(folder / "data")
    monkeypatch.chdir(folder)
    edited = folder / "results" / "a.json"
    edited.write_text(edited.read_text().replace('"mae"', '"mae" ', 1).replace("15.8", "14.8", 1))
    with refuses("E-invalid-result", "a.json"):
        sy.pack(folder / "results", out)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    edited.unlink()
    (folder / "results" / "gate.json").unlink()
    with refuses("E-invalid-number", "SOURCE_DATE_EPOCH"):
        sy.pack(folder / "results", out)
    assert not out.exists()


def test_an_author_brings_the_documents(folder: Path) -> None:
    (folder / "results" / "test-report.md").write_text("# Mine\n")
    sy.pack(folder / "results", folder / "pack.zip", data=folder / "data")
    members = members_of(folder / "pack.zip")
    assert members["test-report.md"] == b"# Mine\n"
    assert "test-report.html" not in members
    assert "model-card.html" in members


# Packs that nobody made with `pack`: one sentence each, and nothing is written.


def raw(name: str, content: bytes = b"x") -> Callable[[dict[str, bytes]], dict[str, bytes]]:
    return lambda members: {**members, name: content}


def manifest_with(**values: Any) -> Callable[[dict[str, bytes]], dict[str, bytes]]:
    return lambda members: {**members, NAME: json.dumps(json.loads(members[NAME]) | values).encode()}


def without(name: str) -> Callable[[dict[str, bytes]], dict[str, bytes]]:
    return lambda members: {key: value for key, value in members.items() if key != name}


def leading_out(members: dict[str, bytes]) -> dict[str, bytes]:
    """A data file with a name outside, which the manifest lists."""
    manifest = json.loads(members[NAME])
    digest = f"sha256:{hashlib.sha256(b'x').hexdigest()}"
    manifest["members"].append({"name": "data/../../out.csv", "role": "data", "size": 1, "sha256": digest})
    return {**members, NAME: json.dumps(manifest).encode(), "data/../../out.csv": b"x"}


@pytest.mark.parametrize(
    ("change", "code", "named"),
    [
        (without(NAME), "E-invalid-file", NAME),
        (without("results/a.json"), "E-invalid-file", "'results/a.json'"),
        (raw("results/a.json", b"{}"), "E-invalid-file", "'results/a.json'"),
        (raw("data/truth.csv", b"dish\n"), "E-invalid-file", "'data/truth.csv'"),
        (raw("more.txt"), "E-invalid-file", "'more.txt'"),
        (raw("../out.csv"), "E-invalid-file", "'../out.csv'"),
        (raw("/out.csv"), "E-invalid-file", "'/out.csv'"),
        (raw("C:/out.csv"), "E-invalid-file", "'C:/out.csv'"),
        (raw("results/"), "E-invalid-file", "'results/'"),
        (leading_out, "E-invalid-file", "'data/../../out.csv'"),
        (raw(NAME, b"{"), "E-invalid-file", NAME),
        (raw(NAME, b"[]"), "E-invalid-file", NAME),
        (raw(NAME, b"\xff"), "E-invalid-file", NAME),
        (raw(NAME, b"[" * 100_000), "E-too-large", NAME),
        (manifest_with(version=2), "E-unsupported", "2"),
        (manifest_with(version="1"), "E-invalid-file", NAME),
        (manifest_with(members=[]), "E-invalid-file", NAME),
        (manifest_with(members=3), "E-invalid-file", NAME),
        (manifest_with(data=[]), "E-invalid-file", NAME),
        (manifest_with(created=None), "E-invalid-file", NAME),
    ],
)
def test_hostile_packs(
    change: Callable[[dict[str, bytes]], dict[str, bytes]], code: str, named: str, pack: Path, tmp_path: Path
) -> None:
    write_members(pack, change(members_of(pack)))
    before = sorted(tmp_path.rglob("*"))
    with refuses(code, str(pack), named):
        sy.verify(pack)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_link_is_refused(pack: Path) -> None:
    members = members_of(pack)
    with zipfile.ZipFile(pack, "w") as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name)
            info.create_system, info.external_attr = 3, (0o120777 if name == "data/truth.csv" else 0o100644) << 16
            archive.writestr(info, content)
    with refuses("E-invalid-file", "'data/truth.csv'"):
        sy.verify(pack)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name_are_refused(pack: Path) -> None:
    with zipfile.ZipFile(pack, "a") as archive:
        archive.writestr("results/a.json", b"{}")
    with refuses("E-duplicate-key", "'results/a.json'"):
        sy.verify(pack)


def test_a_bomb_is_refused_before_it_is_unpacked(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_UNPACK_LIMIT", "1MB")
    with zipfile.ZipFile(pack, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(NAME, bytes(30_000_000))
    with refuses("E-too-large", str(pack)):
        sy.verify(pack)


def test_what_is_not_an_archive_is_refused(pack: Path) -> None:
    data = pack.read_bytes()
    pack.write_bytes(data[: len(data) // 2])
    with refuses("E-unreadable-file", str(pack)):
        sy.verify(pack)
    with refuses("E-missing-file", "nowhere.zip"):
        sy.verify(pack.parent / "nowhere.zip")
    with refuses("E-out-of-range", "2"):
        sy.verify(pack, tolerance=2)


# Signatures


@pytest.fixture
def signed(pack: Path) -> tuple[Path, Path, Path]:
    """A pack, its signature by a key made for the test, and the file of those who may sign."""
    if shutil.which("ssh-keygen") is None:
        pytest.skip("needs ssh-keygen")
    key = pack.parent / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    subprocess.run(["ssh-keygen", "-q", "-Y", "sign", "-f", key, "-n", "file", pack], check=True, capture_output=True)
    signers = pack.parent / "signers"
    kind, public, *_ = (pack.parent / "key.pub").read_text().split()
    signers.write_text(f"lab@example.org {kind} {public}\n")
    return pack, pack.with_suffix(".zip.sig"), signers


def test_a_signature_is_checked(signed: tuple[Path, Path, Path]) -> None:
    pack, signature, signers = signed
    outcome = sy.verify(pack, digests_only=True, signature=signature, signers=signers)
    assert outcome.signature == "Signed by lab@example.org."
    unknown = sy.verify(pack, digests_only=True, signature=signature).signature
    assert "lab@example.org" not in unknown
    signers.write_text("")
    with refuses("E-invalid-file", str(signature)):
        sy.verify(pack, signature=signature, signers=signers)
    with pack.open("ab") as file:
        file.write(b"\0")
    with refuses("E-invalid-file", str(signature), str(pack)):
        sy.verify(pack, signature=signature)


@pytest.fixture
def gpg_home() -> Iterator[Path]:
    """A folder for the keys of gpg, with a name that is short enough for the socket of its agent."""
    if shutil.which("gpg") is None or shutil.which("gpgconf") is None:
        pytest.skip("needs gpg")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        os.chmod(home, 0o700)
        yield Path(home)
        subprocess.run(["gpgconf", "--homedir", home, "--kill", "all"], check=True, capture_output=True)


@pytest.fixture
def gpg(gpg_home: Path) -> Callable[..., str]:
    """What gpg prints that has the keys of that folder alone."""

    def run(*arguments: str | Path) -> str:
        unattended = ["--batch", "--yes", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""]
        command = ["gpg", "--homedir", str(gpg_home), *unattended, *map(str, arguments)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    return run


def signed_by_gpg(gpg: Callable[..., str], pack: Path, expires: str = "never") -> tuple[Path, Path]:
    """The signature of a pack by a key that was made in 2020, and the file of its public key."""
    in_2020 = ("--faked-system-time", "20200101T000000")
    gpg(*in_2020, "--quick-gen-key", "Lab <lab@example.org>", "ed25519", "sign", expires)
    signature, signers = pack.with_suffix(".sig"), pack.with_suffix(".keys")
    gpg(*in_2020, "--output", signature, "--detach-sign", pack)
    gpg("--output", signers, "--export")
    return signature, signers


def test_a_signature_of_gpg_is_checked(pack: Path, gpg: Callable[..., str]) -> None:
    signature, signers = signed_by_gpg(gpg, pack)
    outcome = sy.verify(pack, digests_only=True, signature=signature, signers=signers)
    assert outcome.signature == "Signed by Lab <lab@example.org>."
    no_keys = pack.with_suffix(".none")
    no_keys.write_text("no keys")
    with refuses("E-invalid-file", str(signature), str(pack)):
        sy.verify(pack, signature=signature, signers=no_keys)
    with pack.open("ab") as file:
        file.write(b"\0")
    with refuses("E-invalid-file", str(signature), str(pack)):
        sy.verify(pack, signature=signature, signers=signers)


def test_a_key_that_has_expired_since_it_signed(pack: Path, gpg: Callable[..., str]) -> None:
    signature, signers = signed_by_gpg(gpg, pack, "1y")
    said = sy.verify(pack, digests_only=True, signature=signature, signers=signers).signature
    assert "lab@example.org" in said
    assert "expired" in said


def test_a_signature_by_a_revoked_key_is_refused(pack: Path, gpg: Callable[..., str], gpg_home: Path) -> None:
    """gpg calls such a signature good, warns, and ends with 0."""
    signature, signers = signed_by_gpg(gpg, pack)
    certificate = next((gpg_home / "openpgp-revocs.d").glob("*.rev"))
    certificate.write_text(certificate.read_text().replace(":-----BEGIN", "-----BEGIN"))  # as gpg asks its user to do
    gpg("--import", certificate)
    gpg("--output", signers, "--export")
    with refuses("E-invalid-file", str(signature), "revoked"):
        sy.verify(pack, signature=signature, signers=signers)


def test_a_signature_needs_its_program(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    signature = pack.parent / "pack.sig"
    monkeypatch.setenv("PATH", str(pack.parent))
    for text, program in (
        ("-----BEGIN SSH SIGNATURE-----\n", "ssh-keygen"),
        ("-----BEGIN PGP SIGNATURE-----\n", "gpg"),
    ):
        signature.write_text(text)
        with refuses("E-not-installed", program):
            sy.verify(pack, signature=signature)
    with refuses("E-missing-file", "nowhere.sig"):
        sy.verify(pack, signature=pack.parent / "nowhere.sig")


def test_the_commands(folder: Path, steelyard: Callable[..., Any]) -> None:
    done = steelyard("pack", "results", "-o", "p.zip", "--data", "data", "--by", "A. Person", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "wrote p.zip: 4 results" in done.stderr
    done = steelyard("verify", "p.zip", "--data", "data", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("Equal: every digest matches, and 4 results computed again.\n")
    truth = folder / "data" / "truth.csv"
    truth.write_text(truth.read_text().replace("200", "206"))
    done = steelyard("verify", "p.zip", "--data", "data", "--json", cwd=folder)
    assert done.returncode == 1
    outcome = json.loads(done.stdout)
    assert not outcome["ok"]
    assert list(outcome["changed_data"]) == ["truth.csv"]
    done = steelyard("verify", "p.zip", cwd=folder)
    assert done.returncode == 2
    assert "--data" in done.stderr
    assert "E-missing-data" in done.stderr


@pytest.mark.slow
def test_every_task_is_computed_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from steelyard.cli.demo import copy_sample
    from steelyard.core import catalogue

    for task, sample in catalogue.samples().items():
        if task == "vlm":
            continue
        place = folder / task
        copy_sample(sample, place)
        monkeypatch.chdir(place)
        options = dict(sample.options)
        by = [sample.by] if sample.by else []
        report = sy.evaluate(task, sample.truth, sample.a, by=by, options=options, draws=100)
        report.to_json("results/report.json", details=True)
        comparison = sy.compare(task, sample.truth, sample.a, sample.b, options=options, draws=100)
        comparison.to_json("results/comparison.json")
        sy.pack("results", "pack.zip", include_data=True)
        outcome = sy.verify("pack.zip")
        assert outcome.ok, (task, str(outcome))
        assert all(one.equal for one in outcome.results)
