"""Vision-language models behind hostile servers, and runs and frames that are spoiled: `vlm run`, `parse`, `score`."""

from __future__ import annotations

import json
import os
import struct
import time
import zlib
from typing import Any

from hostile.rows import FRAMES, Make, Row, row
from hostile.servers_help import completion, reply, sends


def png(width: int = 2, height: int = 2, rows: bytes = b"\0\0\0\0\0\0\0" * 2) -> bytes:
    """A picture; its rows need not fit."""

    def part(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    about = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", about) + part(b"IDAT", zlib.compress(rows)) + part(b"IEND", b"")


MEAL: dict[str, Make] = {"frames.csv": FRAMES, "a.png": png(), "b.png": png(rows=b"\0\1\2\3\4\5\6" * 2)}
KEY = "sk-hostile-0123456789abcdef"
ASK = "vlm run frames.csv --model openai:m@{url} --out run --prompts direct --retries 1 --timeout 3 --concurrency 1"
LOCAL = ASK.replace("{url}", "http://127.0.0.1:9/v1")


def asked(name: str, script: Any, *says: str, code: int = 1, options: str = "", **more: Any) -> Row:
    """A run against a server; replies that cannot be used fail, are counted, and end with 1."""
    more.setdefault("writes", ("run",))
    more.setdefault("env", {"OPENAI_API_KEY": KEY})
    return row(f"server: {name}", f"{ASK} {options}", *says, files=MEAL, server=script, code=code, never=(KEY,), **more)


def drip(wire: Any) -> None:
    """Headers at once, then a byte now and then."""
    wire.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n")
    for _ in range(60):
        wire.sendall(b" ")
        time.sleep(0.2)


def endless(wire: Any) -> None:
    """A body that never ends."""
    wire.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
    block = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    for _ in range(4000):
        wire.sendall(block)


def endless_headers(wire: Any) -> None:
    wire.sendall(b"HTTP/1.1 200 OK\r\n")
    for _ in range(20_000):
        wire.sendall(b"X-A: " + b"y" * 1000 + b"\r\n")


def silence(wire: Any) -> None:
    """Nothing at all."""
    time.sleep(8)


def zipped(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return packer.compress(data) + packer.flush()


def bomb(wire: Any) -> None:
    """A small body that unpacks to 256 MB."""
    head = "Content-Type: application/json\r\nContent-Encoding: gzip\r\n"
    wire.sendall(reply(zipped(b" " * (1 << 28)), head=head))


SERVERS: list[Row] = [
    asked("drips", drip, "2 failed", options="--timeout 1"),
    asked("says nothing", silence, "2 failed", options="--timeout 1"),
    asked("closes at once", sends(), "2 failed"),
    asked("never ends", endless, "2 failed"),
    asked("never ends its headers", endless_headers, "2 failed"),
    asked("sends a bomb", bomb, "2 failed"),
    asked("sends gzip that is none", sends(reply(b"none", head="Content-Encoding: gzip\r\n")), "2 failed"),
    asked("sends no HTTP", sends(b"SSH-2.0-OpenSSH_9.2\r\n"), "2 failed"),
    asked("ends before its length", sends(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"), "2 failed"),
    asked("gives a length below zero", sends(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n{}"), "2 failed"),
    asked("sends nothing", sends(reply(b"")), "2 failed"),
    asked("sends HTML", sends(reply(b"<html>hello</html>")), "2 failed"),
    asked("sends bytes that are not UTF-8", sends(reply(b"\xff\xfe\xff")), "2 failed"),
    asked("sends JSON 100,000 deep", sends(reply(b"[" * 100_000)), "2 failed"),
    asked("sends an integer of 5,000 digits", sends(reply(b'{"choices": ' + b"9" * 5000 + b"}")), "2 failed"),
    asked("sends a list", sends(reply([])), "2 failed"),
    asked("sends null", sends(reply(None)), "2 failed"),
    asked("sends no choices", sends(reply({"choices": []})), "2 failed"),
    asked("sends choices that are an object", sends(reply({"choices": {"0": 1}})), "2 failed"),
    asked("sends a message that is a text", sends(reply({"choices": [{"message": "120 g"}]})), "2 failed"),
    asked("sends content that is a number", sends(reply(completion(120))), "2 failed"),
    asked("sends content that is an object", sends(reply(completion({"text": "120 g"}))), "2 failed"),
    asked("sends usage that is a list", sends(reply(completion(usage=[1]))), "2 readings", code=0),
    asked("sends usage of texts", sends(reply(completion(usage={"completion_tokens": "many"}))), "2 readings", code=0),
    asked("sends an escape sequence as its error", sends(reply({"error": {"message": "\x1b[2J\x1b]0;owned\x07no"}}, "400 Bad Request")), "2 failed"),
    asked("turns the writing of its error", sends(reply({"error": {"message": "\u202eon"}}, "400 Bad Request")), "2 failed"),
    asked("sends the key back in its error", sends(reply({"error": {"message": f"bad key {KEY}"}}, "401 Unauthorized")), "refuses the key", code=2),
    asked("sends an error of a megabyte", sends(reply({"error": {"message": "no " * 350_000}}, "500 Oops")), "2 failed"),
    asked("sends an error that is a list", sends(reply({"error": [1]}, "500 Oops")), "2 failed"),
    asked("sends us elsewhere", sends(reply(b"", "302 Found", "Location: http://127.0.0.1:9/\r\n")), "says 302", "Check the URL", code=2),
    asked("sends us round in circles", sends(reply(b"", "307 Again", "Location: /v1/chat/completions\r\n")), "says 307", "Check the URL", code=2),
    asked("wants us to wait a year", sends(reply(b"", "429 Slow", "Retry-After: 31536000\r\n")), "says 429, and to come back in 525,600 minutes", code=2),
    asked("wants us to wait for nan", sends(reply(b"", "429 Slow", "Retry-After: nan\r\n")), "2 failed"),
    asked("answers 999", sends(reply(b"{}", "999 What")), "2 failed"),
    asked("says limits that are none", sends(reply(completion(), head="X-RateLimit-Remaining-Requests: 0\r\nX-RateLimit-Reset-Requests: nan\r\n")), "2 readings", code=0),
    asked("answers without a number", sends(reply(completion("I cannot help with that."))), "0 with a number", code=0),
    asked("answers 10^400", sends(reply(completion("9" * 400 + " g"))), "0 with a number", code=0),
    asked("answers a list that is long", sends(reply(completion("1," * 8000))), "0 with a number", code=0),
    asked("answers a megabyte of digits", sends(reply(completion("1" * 1_000_000))), "0 with a number", code=0),
    asked("answers in control characters", sends(reply(completion("\x1b[2J\0\x07 120 g"))), "2 readings", code=0),
    asked("answers half a character", sends(reply(b'{"choices": [{"message": {"content": "120 g \\ud800"}}]}')), "2 readings", code=0),
]  # fmt: skip


def run(name: str, line: str, *says: str, files: dict[str, Make] | None = None, **more: Any) -> Row:
    more.setdefault("code", 2)
    return row(f"vlm: {name}", line, *says, files={**MEAL, **(files or {})}, **more)


def frames(name: str, text: str | bytes, *says: str, **more: Any) -> Row:
    return run(f"frames, {name}", LOCAL, *says, files={"frames.csv": text}, **more)


PLAN = {
    "schema": "steelyard/vlm-run/1", "steelyard": "0", "plans": [{
        "model": "m", "label": "m", "fingerprint": "f", "settings": {}, "prompts": {"direct": "How many grams?"},
    }],
}  # fmt: skip


STORED = (
    "sequence,t,image,food,weight,kcal_per_g,valid,image_sha256,width,height,problem\ns,0,a.png,rice,9,1,true,d0,2,2,\n"
)


def folder(name: str, plan: Any, journal: str | bytes, *says: str, **more: Any) -> list[Row]:
    """A run's folder for `score` and `parse`."""
    text = plan if isinstance(plan, str) else json.dumps(plan)
    files = {"run/run.json": text, "run/journal.jsonl": journal, "run/frames.csv": STORED}
    return [
        run(f"{name} (score)", "vlm score run", "run", *says, files=files, **more),
        run(f"{name} (parse)", "vlm parse run", "run", *says, files=files, **more),
    ]


RUNS: list[Row] = [
    frames("empty", "", "frames.csv", "empty"),
    frames("without a column", FRAMES.replace("image", "picture"), "frames.csv", "'image' is missing"),
    frames("t that is a word", FRAMES.replace("s,1,", "s,one,"), "frames.csv, line 3", "'one'"),
    frames("frame twice", FRAMES.replace("s,1,", "s,0,"), "frames.csv, line 3", "twice"),
    frames("picture that is not there", FRAMES.replace("a.png", "z.png").replace("b.png", "y.png"), "z.png", code=1, writes=("run",)),
    frames("picture that is text", FRAMES.replace("a.png", "frames.csv").replace("b.png", "frames.csv"), "frames.csv", code=1, writes=("run",)),
    frames("picture that is a device", FRAMES.replace("a.png", "/dev/zero").replace("b.png", "/dev/zero"), "/dev/zero", code=1, writes=("run",)),
    frames("picture that is a folder", FRAMES.replace("a.png", ".").replace("b.png", "."), "the image is a folder", code=1, writes=("run",)),
    run("picture that claims 2^31 pixels", LOCAL, "a.png", files={"a.png": png(2**31 - 1, 2**31 - 1), "b.png": png(2**31 - 1, 2**31 - 1)}, code=1, writes=("run",)),
    run("picture that is a bomb", LOCAL, "a.png", files={"a.png": png(30000, 30000, bytes(1 << 24)), "b.png": png(30000, 30000, bytes(1 << 24))}, code=1, writes=("run",)),
    run("picture that is a pipe", LOCAL, "a.png", files={"a.png": lambda path: os.mkfifo(path), "b.png": lambda path: os.mkfifo(path)}, code=1, writes=("run",)),
    run("model of no kind", "vlm run frames.csv --model gpt --out run", "'gpt'", "openai:"),
    run("model without an address", "vlm run frames.csv --model openai:m --out run", "openai:m"),
    run("address that is a file", "vlm run frames.csv --model openai:m@file:///etc/hostname --out run", "file:///etc/hostname"),
    run("address that is garbage", "vlm run frames.csv --model openai:m@http://[::1 --out run", "http://[::1"),
    run("model's folder that is not there", "vlm run frames.csv --model hf:./nowhere --out run", "nowhere", memory=False),
    run("prompt that is unknown", f"{LOCAL} --prompts nmaed", "'nmaed'"),
    run("prompts that are a list", f"{LOCAL} --prompt-file p.json", "p.json", files={"p.json": "[1]"}),
    run("prompts that are cut off", f"{LOCAL} --prompt-file p.json", "p.json", files={"p.json": '{"a": '}),
    run("prompts that are numbers", f"{LOCAL} --prompt-file p.json", "p.json", files={"p.json": '{"a": 7}'}),
    run("field that is filled in already", f"{LOCAL} --param messages=[]", "--param cannot set messages"),
    run("field without a value", f"{LOCAL} --param top_p", "--param 'top_p' is not a field"),
    run("asked no times", f"{LOCAL} --repeat 0", "cannot be asked 0 times", "1 to 100"),
    run("asked a million times", f"{LOCAL} --repeat 1000000", "cannot be asked 1000000 times"),
    run("asked a word of times", f"{LOCAL} --repeat often", "often"),
    run("temperature below 0", f"{LOCAL} --temperature -1", "temperature", "0 to 100"),
    run("temperature of nan", f"{LOCAL} --temperature nan", "temperature", "0 to 100"),
    run("set that is unknown", f"{LOCAL} --questions nutriments", "nutriments"),
    run("set without its columns", "vlm run frames.csv --model openai:m@http://127.0.0.1:9/v1 --out run --questions nutrients", "'mass'", "frames.csv"),
    run("set without its images", "vlm run frames.csv --model openai:m@http://127.0.0.1:9/v1 --out run --questions eaten", "'before'"),
    run("format of images that is unknown", f"{LOCAL} --image gif", "--image gif is not known"),
    run("name of the limit that is unknown", f"{LOCAL} --limit-field n", "--limit-field n is not known"),
    run("tokens per minute of nan", f"{LOCAL} --token-rate nan", "token-rate"),
    run("schema nested 5,000 deep", f"{LOCAL} --prompts q --questions q.json", "q.json", files={"q.json": '{"questions": {"q": {"prompt": "x", "target": "weight", "answer": "json", "schema": ' + '{"items": ' * 5000 + "{}" + "}" * 5000 + "}}}"}),
    run("timeout of zero", f"{LOCAL} --timeout 0", "timeout"),
    run("timeout of nan", f"{LOCAL} --timeout nan", "timeout"),
    run("concurrency of a million", f"{LOCAL} --concurrency 1000000", "concurrency"),
    run("concurrency below one", f"{LOCAL} --concurrency 0", "concurrency"),
    run("rate below zero", f"{LOCAL} --rate -1", "rate"),
    run("retries below one", f"{LOCAL} --retries 0", "retries"),
    run("longest side below one", f"{LOCAL} --max-side 0", "max-side"),
    run("most of nan", f"{LOCAL} --most nan", "most"),
    run("out that is a file", f"{LOCAL} --out a.png", "a.png"),
    *folder("a folder of no run", "{}", ""),
    *folder("a plan that is cut off", '{"schema": ', "", "run.json"),
    *folder("a plan that is a list", [], "", "run.json"),
    *folder("a plan 100,000 deep", "[" * 100_000, "", "run.json"),
    *folder("a plan of another version", {**PLAN, "schema": "steelyard/vlm-run/9"}, "", "run.json", "vlm-run/9"),
    *folder("a plan with settings that are a text", {**PLAN, "plans": [{**PLAN["plans"][0], "settings": "none"}]}, "", "run.json"),
    *folder("a plan with an unknown mode", {**PLAN, "plans": [{**PLAN["plans"][0], "mode": "half"}]}, "", "run.json", "half"),
    *folder("a plan of plans that are numbers", {**PLAN, "plans": [7]}, "", "run.json"),
    *folder("a journal that is binary", PLAN, b"\0\xff\n" * 50),
    *folder("a journal of lines that are cut", PLAN, '{"key": "\n{"text": "a"}\n', "journal.jsonl, line 1"),
    *folder("a journal of texts without a body", PLAN, '{"text": "a"}\n', "journal.jsonl, line 1"),
    *folder("a journal of a text 100,000 deep", PLAN, '{"text": ' + "[" * 100_000 + "\n", "journal.jsonl, line 1"),
    run("stored frames of a picture without a size", "vlm score run", "run/frames.csv, line 2", files={"run/run.json": json.dumps(PLAN), "run/journal.jsonl": "", "run/frames.csv": STORED.replace(",2,2,", ",wide,2,")}),
    run("stored frames of a run that are not there", "vlm score run", "frames.csv", files={"run/run.json": json.dumps(PLAN), "run/journal.jsonl": ""}),
    run("score of nothing", "vlm score nowhere", "nowhere"),
    run("prices that are not there", f"{ASK} --prices p.json --budget 5", "p.json", "no such file"),
    run("prices that are a device", f"{ASK} --prices /dev/zero.json", "/dev/zero.json"),
    run("prices of no format", f"{ASK} --prices p.txt", "p.txt", ".yaml", files={"p.txt": "m: 3"}),
    run("prices that are cut off", f"{ASK} --prices p.json", "p.json", "not readable", files={"p.json": '{"models": {"m"'}),
    run("prices without end", f"{ASK} --prices p.json", "p.json", "input inf", files={"p.json": '{"models": {"m": {"input": 1e999, "output": 1}}}'}),
    run("prices nested too deep", f"{ASK} --prices p.json", "p.json", files={"p.json": "[" * 100_000}),
    run("prices of another model", f"{ASK.replace('{url}', 'http://127.0.0.1:9/v1')} --prices p.json --budget 5", "no price of the model 'm'", files={"p.json": '{"models": {"n": {"input": 1, "output": 1}}}'}),
    run("a budget without prices", f"{ASK} --budget 5", "a budget needs prices"),
    run("a budget of nan", f"{ASK.replace('{url}', 'http://127.0.0.1:9/v1')} --prices p.json --budget nan", "a budget of nan", files={"p.json": '{"models": {"m": {"input": 1, "output": 1}}}'}),
    run("score by a column that is not there", "vlm score run --by sight", "no column 'sight'", files={"run/run.json": json.dumps(PLAN), "run/journal.jsonl": "", "run/frames.csv": STORED}),
    run("score of a confidence of 2", "vlm score run --ci 2", "confidence of 2", "between 0 and 1", files={"run/run.json": json.dumps(PLAN), "run/journal.jsonl": "", "run/frames.csv": STORED}),
    run("score into no format", "vlm score run -o out.pdf", "out.pdf", files={"run/run.json": json.dumps(PLAN)}),
    run("Nutrition5k that is empty", "vlm nutrition5k m.csv d -o out.csv", "m.csv", files={"m.csv": "", "d/x": ""}),
    run("Nutrition5k of words", "vlm nutrition5k m.csv d -o out.csv", "m.csv, dish 'dish_1'", files={"m.csv": "dish_1,heavy,x\n", "d/x": ""}),
    run("Nutrition5k of dishes that climb", "vlm nutrition5k m.csv d -o out.csv", "m.csv", files={"m.csv": "../../etc,100,50,1,1,1\n", "d/x": ""}),
]  # fmt: skip

ROWS = SERVERS + RUNS
