# Everything that a person or a machine does with this checkout. `make help` lists it.

PYTHON ?= python3
PORT   ?= 8000
STATE  ?= .kith

VENV := .venv
BIN  := $(VENV)/bin
EXAMPLE := cd examples/web &&
READY := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help install dev test test-long check format playground browser-test clients-test example example-test bench lock sdl states clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(READY) ## Create the virtual environment with the locked dependencies

$(READY): requirements-dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Kith needs Python 3.11 or newer; set PYTHON=…"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt
	@touch $@

dev: $(READY) ## Start everything on this machine (PORT=8000 STATE=.kith); Ctrl-C stops it
	@[ -e gateway/playground_assets/playground.js ] || ! command -v npm >/dev/null \
	  || $(MAKE) --no-print-directory playground >/dev/null \
	  || echo "The playground could not be bundled: it will load its parts from the internet."
	@exec $(BIN)/python -m gateway dev --port $(PORT) --state $(STATE)

test: $(READY) ## Run the whole test suite on real servers
	$(BIN)/pytest -n auto

test-long: $(READY) ## Run the property tests for much longer, and replay a whole log
	$(BIN)/pytest -n auto -m long
	$(BIN)/pytest -n auto --hypothesis-profile=long tests/property/test_service_against_model.py

playground: ## Bundle the playground with npm, so that it works without the internet
	cd gateway/playground && npm ci --no-audit --no-fund --loglevel=error && npm run build

browser-test: $(READY) playground ## Try the playground in a real browser (needs npm; root installs chromium)
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get update && apt-get install -y chromium; }
	$(BIN)/pytest tests/acceptance/test_playground_browser.py

clients-test: $(READY) ## Try graphql-ws and graphql-sse, the clients that people use (needs npm)
	cd tests/acceptance/clients && npm ci --no-audit --no-fund --loglevel=error
	$(BIN)/pytest tests/acceptance/test_clients.py

example: $(READY) example-install ## Start a small social app on the sample graph (needs npm; WEB_PORT=5173); Ctrl-C stops it
	@$(EXAMPLE) exec node start.mjs

example-test: $(READY) example-install ## Drive the example in a real browser (needs npm; root installs chromium)
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get update && apt-get install -y chromium; }
	$(EXAMPLE) npm run lint && $(EXAMPLE) npm test

example-install:
	@command -v npm >/dev/null || { echo "The example needs Node.js 20.19 or newer with npm."; exit 1; }
	$(EXAMPLE) npm ci --no-audit --no-fund --loglevel=error

bench: $(READY) ## Hold Kith against its peers (needs wrk; npm for the Node peers; ARGS=--quick for neither)
	@[ -n "$(findstring --quick,$(ARGS))" ] || ! command -v npm >/dev/null || [ -d bench/peers/node_modules ] \
	  || (cd bench/peers && npm ci --no-audit --no-fund --loglevel=error)
	$(BIN)/python -m bench $(ARGS)

check: $(READY) ## Lint, types, imports, SDL and changelog
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m gateway sdl | diff -u schema/schema.graphql - \
	  || { echo "schema/schema.graphql is out of date: run make sdl"; exit 1; }
	@grep -q '^## Unreleased' CHANGELOG.md || { echo "CHANGELOG.md has no Unreleased part"; exit 1; }

format: $(READY) ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

sdl: $(READY) ## Print the contract into schema/schema.graphql
	$(BIN)/python -m gateway sdl > schema/schema.graphql

states: $(READY) ## Draw the states and actions into docs/relationship-states.md
	$(BIN)/python -m tests.states > docs/relationship-states.md

lock: $(READY) ## Resolve the dependencies anew
	$(BIN)/python -m uv --version >/dev/null 2>&1 || $(BIN)/pip install --quiet uv
	$(BIN)/python -m uv pip compile --quiet --universal --python-version 3.11 --no-header \
	  --no-emit-index-url --generate-hashes pyproject.toml -o requirements.txt
	$(BIN)/python -m uv pip compile --quiet --universal --python-version 3.11 --no-header \
	  --no-emit-index-url --generate-hashes --all-extras -c requirements.txt pyproject.toml \
	  -o requirements-dev.txt

clean: ## Remove what was built; the data of `make dev` stays
	rm -rf $(VENV) .kith-bench .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
