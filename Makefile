# All tasks of this checkout. `make help` lists it.

PYTHON ?= python3
PORT   ?= 8000
STATE  ?= .kith
SOAK_MINUTES ?= 10

VENV := .venv
BIN  := $(VENV)/bin
PIP   := $(BIN)/pip install --quiet --disable-pip-version-check
RUNS  := $(VENV)/.runs
EXAMPLE := cd examples/web &&
READY := $(VENV)/.installed

# Each Python client has its own environment, because no version of graphql-core suits all of them.
CLIENTS := tests/acceptance/clients
SCHEMA_LINT := tests/schema-lint
CLIENTS_VENV := .venv-clients
PYTHON_CLIENTS := gql ariadne-codegen
CLIENTS_READY := $(PYTHON_CLIENTS:%=$(CLIENTS_VENV)/%/.installed)

NEEDS_CHROMIUM := command -v chromium >/dev/null || command -v chromium-browser >/dev/null \
  || { [ "$$(id -u)" = 0 ] && apt-get update && apt-get install -y chromium; } \
  || { echo "This needs Chromium: install it, or run this as root."; exit 1; }

# Tests and `make dev` start many processes, which would all compile the same code.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help install dev test test-fast test-faults soak test-long coverage check format playground browser-test \
  clients-test citus-test identity-test pooler-test deployment-test example example-test example-install example-service \
  example-service-test example-service-lock bench bench-cost alerts-test schema-lint lock sdl settings states rejections clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-21s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(READY) ## Create the virtual environment with the locked dependencies and the command kith

# The dependencies of `make dev`, half of all. The last step installs the command `kith`; its build
# backend is locked too, so nothing more is downloaded.
$(RUNS): requirements-embedded.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Kith needs Python 3.11 or newer; set PYTHON=…"; exit 1; }
	@printf 'Installing the locked dependencies into $(VENV), once … '; began=$$(date +%s); \
	  $(PYTHON) -m venv $(VENV) \
	  && $(PIP) --require-hashes -r requirements-embedded.txt \
	  && $(PIP) --no-index --no-deps --no-build-isolation --editable . \
	  && touch $@ && echo "$$(($$(date +%s) - began)) s"

$(READY): requirements-dev.txt $(RUNS)
	@printf 'Installing the locked tools for tests and checks, once … '; began=$$(date +%s); \
	  $(PIP) --require-hashes -r requirements-dev.txt \
	  && touch $@ && echo "$$(($$(date +%s) - began)) s"

dev: $(RUNS) ## Start everything on this machine (PORT=8000 STATE=.kith); Ctrl-C stops it
	@exec $(BIN)/python -m gateway dev --port $(PORT) --state $(STATE)

# Whole files, because the tests of one share what they read; in the order of the folders, because
# the unit tests, which come last, fill the time until all workers are done.
# Three workers for two cores: many tests wait for processes that start or for a deadline.
TEST_WORKERS ?= $(shell echo $$(( $$(nproc) * 3 / 2 )))
PYTEST := $(BIN)/pytest -n $(TEST_WORKERS) --dist=loadfile --no-loadscope-reorder

test: $(READY) ## Run the whole test suite on real servers
	$(PYTEST)

# The comparison of 2,100 operations with graphql-core takes as long as all other tests here.
test-fast: $(READY) ## Run the tests that need no server, except the slowest
	$(PYTEST) -m "not long and not servers" tests/architecture tests/property tests/unit \
	  --ignore=tests/property/test_engine_equals_graphql_core.py

coverage: $(READY) ## Run the whole test suite, and show the lines and branches that it leaves out
	$(BIN)/coverage erase
	$(BIN)/coverage run -m $(PYTEST:$(BIN)/%=%)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

test-long: $(READY) ## Run the property tests for much longer, and replay a large log
	$(PYTEST) -m long
	$(PYTEST) --hypothesis-profile=long tests/property/test_service_against_model.py

test-faults: $(READY) ## Kill, pause and cut off every part under load, and check every answer
	$(PYTEST) -m "faults or not faults" tests/faults/test_guarantees*.py

soak: $(READY) ## Load the service and kill a part every 15 s, checking every answer (SOAK_MINUTES=10)
	$(BIN)/python -m tests.soak --minutes $(SOAK_MINUTES)

playground: $(RUNS) ## Bundle the playground if it changed (needs npm); `make dev` does it too
	$(BIN)/python -m gateway.bundling

browser-test: $(READY) playground ## Test the playground in a real browser (needs npm; root installs chromium)
	@$(NEEDS_CHROMIUM)
	$(BIN)/pytest tests/acceptance/test_playground_browser.py tests/acceptance/test_browser_origins.py

clients-test: $(READY) $(CLIENTS_READY) ## Test the GraphQL clients of JavaScript and Python (needs Node and npm)
	cd $(CLIENTS) && npm ci --no-audit --no-fund --loglevel=error
	$(BIN)/pytest $(CLIENTS)

$(CLIENTS_VENV)/%/.installed: $(CLIENTS)/python/%.txt
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

pooler-test: $(READY) ## Test behind PgBouncer (root installs it; KITH_TEST_PGBOUNCER=PROGRAM:PROGRAM names others)
	@[ -n "$$KITH_TEST_PGBOUNCER" ] || [ -x /usr/sbin/pgbouncer ] || command -v pgbouncer >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && apt-get update && apt-get install -y pgbouncer; } \
	  || { echo "This needs PgBouncer: install it, or run this as root."; exit 1; }
	$(BIN)/pytest tests/poolers

citus-test: $(READY) ## Test on a coordinator and three workers (CITUS=PREFIX of a PostgreSQL with Citus; ARGS=paths)
	@[ -n "$(CITUS)" ] && [ -e "$$(echo $(CITUS)/*/bin/postgres)" ] || { echo "This needs PostgreSQL\
	 with the extension Citus 13 or newer: set CITUS=PREFIX, where PREFIX/*/bin/postgres is its\
	 server, and PREFIX/*.libs are its libraries, if they are not the system's. See docs/citus.md."; exit 1; }
	TEST_CITUS=$(abspath $(CITUS)) $(PYTEST) $(or $(ARGS),tests/citus tests/faults/test_citus_failover.py \
	  tests/integration tests/acceptance tests/property/test_service_against_model.py)

DEPLOYMENT_VENV := .venv-deployment
deployment-test: $(READY) $(DEPLOYMENT_VENV)/.installed ## Check the files for Kubernetes, systemd and Compose (root installs programs)
	@[ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null \
	  || { apt-get update -q && apt-get install -y --no-install-recommends docker-compose systemd; } >/dev/null
	PATH="$(abspath $(DEPLOYMENT_VENV))/bin:$$PATH" $(BIN)/pytest tests/deployment

# It is large, as it has the schemas of all versions of Kubernetes.
$(DEPLOYMENT_VENV)/.installed:
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check kubernetes-validate==1.37.0
	@touch $@

identity-test: $(READY) ## Test tokens of a real OpenID Connect server (needs npm)
	cd tests/acceptance/identity_provider && npm ci --no-audit --no-fund --loglevel=error
	$(BIN)/pytest tests/acceptance/test_identity_provider.py

SERVICE := examples/service

example-service: $(SERVICE)/.venv/.installed ## Install the example service and generate its typed client
	cd $(SERVICE) && .venv/bin/ariadne-codegen >/dev/null

$(SERVICE)/.venv/.installed: $(SERVICE)/requirements.txt
	$(PYTHON) -m venv $(SERVICE)/.venv
	$(SERVICE)/.venv/bin/pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

example-service-test: $(READY) example-service ## Check the example service's types, and run it on real servers
	cd $(SERVICE) && .venv/bin/mypy
	$(BIN)/pytest tests/acceptance/test_example_service.py tests/acceptance/test_example_service_client.py

example-service-lock: $(READY) ## Resolve the example service's dependencies again
	$(BIN)/python -m uv --version >/dev/null 2>&1 || $(BIN)/pip install --quiet uv
	cd $(SERVICE) && $(abspath $(BIN))/python -m uv pip compile --quiet --universal --python-version 3.11 \
	  --no-header --no-emit-index-url --generate-hashes requirements.in -o requirements.txt

example: $(READY) example-install ## Start a small social app on the sample graph (needs npm; WEB_PORT=5173); Ctrl-C stops it
	@$(EXAMPLE) exec node start.mjs

example-test: $(READY) example-install ## Test the example in a real browser (needs npm; root installs chromium)
	@$(NEEDS_CHROMIUM)
	$(EXAMPLE) npm run lint && npm test

example-install:
	@command -v npm >/dev/null || { echo "The example needs Node.js 20.19 or newer with npm."; exit 1; }
	@$(EXAMPLE) [ node_modules/.package-lock.json -nt package-lock.json ] \
	  || { echo "Installing the example's packages…"; npm ci --no-audit --no-fund --loglevel=error; }

bench: $(READY) ## Compare Kith with other servers (needs wrk, and npm for the Node peers; ARGS=--quick: without npm)
	@[ -n "$(findstring --quick,$(ARGS))" ] || ! command -v npm >/dev/null || \
	  [ bench/peers/node_modules/.package-lock.json -nt bench/peers/package-lock.json ] \
	  || (cd bench/peers && npm ci --no-audit --no-fund --loglevel=error)
	$(BIN)/python -m bench $(ARGS)

bench-cost: $(READY) ## Measure the CPU time that the cost of operations stands for (ARGS=--help)
	$(BIN)/python -m bench.cost $(ARGS)

check: $(READY) ## Check format, lint, types, imports, shards of statements, schema and changelog
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.support.shards
	$(BIN)/python -m gateway sdl | diff -u schema/schema.graphql - \
	  || { echo "schema/schema.graphql is out of date: run make sdl"; exit 1; }
	@grep -q '^## Unreleased' CHANGELOG.md || { echo "CHANGELOG.md has no Unreleased part"; exit 1; }

alerts-test: ## Test the alert rules with promtool (root installs it)
	@command -v promtool >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && apt-get update && apt-get install -y --no-install-recommends prometheus; } \
	  || { echo "This needs promtool: install Prometheus, or run this as root on Debian."; exit 1; }
	cd docker/prometheus && promtool check rules alerts.yaml && promtool test rules alerts_test.yaml

schema-lint: ## Lint the schema, and compare it with that of the last release (needs Node and npm)
	cd $(SCHEMA_LINT) && npm ci --no-audit --no-fund --loglevel=error
	$(SCHEMA_LINT)/node_modules/.bin/eslint -c $(SCHEMA_LINT)/eslint.config.mjs schema/schema.graphql
	$(SCHEMA_LINT)/node_modules/.bin/graphql-schema-linter -c $(SCHEMA_LINT) schema/schema.graphql
	@[ ! -e schema/released.graphql ] || $(SCHEMA_LINT)/node_modules/.bin/graphql-inspector diff \
	  schema/released.graphql schema/schema.graphql

format: $(READY) ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

sdl: $(READY) ## Print the schema into schema/schema.graphql
	$(BIN)/python -m gateway sdl > schema/schema.graphql

settings: $(READY) ## Print the settings into docs/settings.md
	$(BIN)/python -m gateway.settings.reference > docs/settings.md

states: $(READY) ## Print the states and actions into docs/relationship-states.md
	$(BIN)/python -m tests.support.relationship_states > docs/relationship-states.md

rejections: $(READY) ## Print the table of rejections into docs/errors.md
	$(BIN)/python -m tests.support.rejections_table

lock: $(READY) ## Resolve the dependencies again, into requirements*.txt
	$(BIN)/python -m uv --version >/dev/null 2>&1 || $(BIN)/pip install --quiet uv
	$(BIN)/python -m uv pip compile --quiet --universal --python-version 3.11 --no-header \
	  --no-emit-index-url --generate-hashes pyproject.toml -o requirements.txt
	$(BIN)/python -m uv pip compile --quiet --universal --python-version 3.11 --no-header \
	  --no-emit-index-url --generate-hashes --all-extras -c requirements.txt pyproject.toml \
	  -o requirements-dev.txt
	$(BIN)/python -m uv pip compile --quiet --universal --python-version 3.11 --no-header \
	  --no-emit-index-url --generate-hashes --extra embedded -c requirements-dev.txt pyproject.toml \
	  -o requirements-embedded.txt
	for client in $(PYTHON_CLIENTS:%=$(CLIENTS)/python/%); do \
	  $(BIN)/python -m uv pip compile --quiet --universal --python-version 3.11 --no-header \
	    --no-emit-index-url --generate-hashes $$client.in -o $$client.txt || exit 1; done

clean: ## Remove what was built; the data of `make dev` stays
	rm -rf $(VENV) $(CLIENTS_VENV) $(DEPLOYMENT_VENV) $(SERVICE)/.venv $(SERVICE)/kith_client
	rm -rf .kith-bench .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	rm -f .coverage .coverage.*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
