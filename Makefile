# `make demo` and `make test` need nothing done before: each creates .venv and installs what it uses.

PYTHON ?= python3
# Each of two processes begins with half of the tests, so that what the tests of a file share is made once, not twice.
PYTEST_FLAGS ?= -n 2 --dist worksteal

VENV := .venv
BIN  := $(VENV)/bin
# Bytecode is compiled where it is first imported, which is a fraction of what is installed.
PIP  := $(BIN)/python -m pip
INSTALL := install --disable-pip-version-check --no-input --no-compile --quiet
# A container that forbids to keep it has every process of the tests and documents compile all that it imports again.
unexport PYTHONDONTWRITEBYTECODE

# Matrices are small here: BLAS threads slow them down, and the tests already use every core.
export OPENBLAS_NUM_THREADS = 1
export OMP_NUM_THREADS = 1
# The theme's note on the future of MkDocs.
export NO_MKDOCS_2_WARNING = 1

.PHONY: demo test test-all coverage install check gate lint types layers docs dist format bench bench-check fuzz clean

demo: $(VENV)/.installed-base      ## the main job on an embedded example; writes poinsot-demo/report.html
	$(BIN)/python examples/demo.py

test: install                      ## every test, doctest, document and example, but those marked as slow
	$(BIN)/python -m pytest $(PYTEST_FLAGS) -m "not slow"

test-all: install                  ## every test, slow ones too
	$(BIN)/python -m pytest $(PYTEST_FLAGS)

coverage: install                  ## the tests, and which lines and branches they reach; fails below the floor
	$(BIN)/python -m pytest $(PYTEST_FLAGS) --cov --cov-report=term --cov-report=html:build/coverage

install: $(VENV)/.installed-all    ## what `make test` sets up, and no more

check: gate test-all               ## the whole gate: format, lint, types, layers, docs, all tests, examples

gate: lint types layers docs       ## the gate without the tests

lint: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: install
	$(BIN)/mypy

layers: install
	$(BIN)/lint-imports

docs: install
	$(BIN)/mkdocs build --strict --quiet

dist: install                      ## wheel and sdist; installs the wheel in an environment of its own and runs it there
	rm -rf dist build/wheel
	$(BIN)/python -m build --outdir dist
	$(PYTHON) -m venv --without-pip build/wheel
	$(PIP) --python build/wheel/bin/python $(INSTALL) --constraint constraints.txt dist/*.whl
	cd build/wheel && bin/poinsot identify ../../examples/arm/job.toml --out report
	cd build/wheel && bin/poinsot --version
	# The README's commands need extras, too: those of .venv, which a path file does not make editable packages of.
	purelib="import sysconfig; print(sysconfig.get_path('purelib'))"; $(BIN)/python -c "$$purelib" \
	  > "$$(build/wheel/bin/python -c "$$purelib")/extras.pth"
	BROWSER=true POINSOT=$(CURDIR)/build/wheel/bin/poinsot $(BIN)/python -m pytest --quiet tests/test_readme.py -k all_commands

format: install                    ## mends what `make lint` finds, as far as that can be done by machine
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: install                     ## poinsot beside its peers, in one run
	for script in $(filter-out benchmarks/scale.py,$(wildcard benchmarks/*.py)); do echo "== $$script"; $(BIN)/python "$$script" || exit 1; done

bench-check: install               ## the same beside benchmarks/baseline.json: a ratio that has lost 20 % fails; CHECK_FLAGS="online"
	$(BIN)/python benchmarks/support/check.py $(CHECK_FLAGS)

fuzz: install                      ## damaged files for every reader, a million each time; FUZZ_FLAGS="--only csv --inputs 10000", or "--guided csv"
	$(if $(findstring --guided,$(FUZZ_FLAGS)),$(PIP) $(INSTALL) --constraint constraints.txt 'atheris>=3.0')
	$(BIN)/python benchmarks/support/hostile.py $(FUZZ_FLAGS)

clean:
	rm -rf $(VENV) build dist site poinsot-demo .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp is as new as the last installation. The base package is enough for the demo; having everything will do too.

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "poinsot needs Python 3.11 or newer: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -m venv $(VENV) \
	  || { $(PYTHON) -m venv --clear --without-pip $(VENV) && $(PYTHON) -m pip --python $(BIN)/python install --quiet pip; } \
	  || { rm -rf $(VENV); echo "$(PYTHON) cannot create an environment: install Debian's python3-venv"; exit 1; }
	@touch $@

$(VENV)/.installed-base: pyproject.toml constraints.txt | $(VENV)/.created
	$(PIP) $(INSTALL) --constraint constraints.txt --editable .
	@touch $@

$(VENV)/.installed-all: pyproject.toml reproductions/pyproject.toml constraints.txt | $(VENV)/.created
	$(PIP) $(INSTALL) --constraint constraints.txt --editable '.[all]' --editable ./reproductions
	@$(BIN)/poinsot warmup # compiles the inner loops, so that no one waits for it later
	@touch $(VENV)/.installed-base $@
