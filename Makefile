# Each target is the only command needed after a clone: the first builds .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/installed
PLUGINS := $(wildcard plugins/*)
JOBS   ?= 2

.PHONY: install demo test check bench clean

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt $(wildcard plugins/*/pyproject.toml)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		-e ".[all,dev]" $(addprefix -e ./,$(PLUGINS))
	touch $@

demo: $(STAMP)
	$(BIN)/grpo demo

test: $(STAMP)
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_layers.py

bench: $(STAMP)
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache
