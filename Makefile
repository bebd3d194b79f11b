# Everything a person or a machine does with this tree. `make help` lists it.
# Needs python3 (3.11 or later), pip and make; the rest it fetches itself.

PYTHON ?= python3
# Distributions build their Python optimized; version managers do not unless told, and central
# with theirs places a third less. So the system's, if it is new enough.
INTERPRETER ?= $(shell /usr/bin/python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
  2>/dev/null && echo /usr/bin/python3 || echo '>=3.11')
UV := .tools/bin/uv
BIN := .venv/bin
WORKSPACE := packages/contracts packages/client packages/agent packages/control
BENCHMARKS := bench/lease.py bench/race.py bench/storm.py bench/quality.py bench/claims.py \
  bench/defragmentation.py bench/overload.py bench/authorization.py bench/year.py
MANIFESTS := pyproject.toml $(addsuffix /pyproject.toml,$(WORKSPACE))

.DEFAULT_GOAL := help
.PHONY: help setup run test check format bench lock proto openapi events clean

help: ## List what can be made
	@awk -F':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/.installed ## Install everything, the command line included, into .venv

$(UV): tools/uv.txt
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --require-hashes \
	  --no-deps --upgrade --target .tools --requirement tools/uv.txt
	@touch $(UV)

.venv/.installed: $(UV) requirements.lock $(MANIFESTS)
	$(UV) venv --quiet --allow-existing --python '$(INTERPRETER)' .venv
	VIRTUAL_ENV=.venv $(UV) pip install --quiet --require-hashes --requirement requirements.lock
	VIRTUAL_ENV=.venv $(UV) pip install --quiet --no-deps $(addprefix --editable ,$(WORKSPACE))
	@touch $@

run: setup ## Start everything on this machine and follow a demo lease
	$(BIN)/penstock up --demo --delay-ms 500

test: check ## Check and test everything
	tools/system.sh
	$(BIN)/python -m pytest --numprocesses 4 --dist worksteal

check: setup ## Lint, types, layers, generated files
	$(BIN)/ruff format --quiet --check .
	$(BIN)/ruff check --quiet .
	$(BIN)/python tools/protoc.py --check
	$(BIN)/python tools/openapi.py --check
	$(BIN)/python tools/events.py --check
	$(BIN)/lint-imports --no-logo
	$(BIN)/basedpyright --level error

format: setup ## Format and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup ## Run every benchmark
	@for file in $(BENCHMARKS); do echo "== $$file"; $(BIN)/python $$file --json || exit 1; done

proto: setup ## Compile the messages between the planes
	$(BIN)/python tools/protoc.py

openapi: setup ## Write down the API's description
	$(BIN)/python tools/openapi.py

events: setup ## Write down the catalogue of events: docs/events.md and the API's description
	$(BIN)/python tools/events.py
	$(BIN)/python tools/openapi.py

lock: $(UV) ## Lock versions and hashes of all dependencies
	$(UV) pip compile --quiet --universal --generate-hashes --no-emit-index-url \
	  --no-emit-package penstock-agent --no-emit-package penstock-client \
	  --no-emit-package penstock-contracts --no-emit-package penstock-control \
	  --no-annotate --no-header --python-version 3.11 \
	  --group dev $(MANIFESTS) --output-file requirements.lock

clean: ## Remove what was installed; data in .penstock stays
	rm -rf .venv .tools
