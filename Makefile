# `make lab` opens the course, `make test` runs every check. `make help` lists the rest.
# Works with GNU make 3.81 and any POSIX shell: what a Mac or a bare server has.

WORKSPACE ?= my-notebooks
JOBS ?= 2
VENV ?= .venv
PYTHONS = python3.13 python3.12 python3.11 python3.14 python3 python
PY = $(VENV)/bin/python
# No test may report to a tracing service, whatever the user's environment says.
export LANGSMITH_TRACING = false
export LANGCHAIN_TRACING_V2 = false
export HITL_LAB_VENV = $(VENV)

.DEFAULT_GOAL := help
.PHONY: help ready lab test check notebooks notebooks-check address lock postgres postgres-stop versions bench site site-check clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' Makefile

# A name on PATH may be a stub that cannot run, or a Python without venv: each candidate is tried, not only found.
ready:
	@for candidate in $(PY) $(PYTHON) $(PYTHONS); do \
	  if "$$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' > /dev/null 2>&1; then \
	    exec "$$candidate" scripts/bootstrap.py; \
	  fi; \
	done; \
	echo "hitl_lab needs Python 3.11 or newer, with venv, and found none among: $(PYTHONS)." >&2; \
	echo "Install one (Debian, Ubuntu: apt-get install python3 python3-venv; macOS: brew install python@3.13)" >&2; \
	echo "or name it: make $(or $(MAKECMDGOALS),lab) PYTHON=/path/to/python3" >&2; \
	exit 1

lab: ready  ## open the course in JupyterLab (WORKSPACE=folder, default my-notebooks)
	@$(VENV)/bin/hitl-lab open "$(WORKSPACE)"

# Browser tests in a pytest of their own: Playwright keeps an event loop running, in which asyncio.run() fails.
# What failed is run once more, alone: threads, processes and a browser on a crowded machine can miss a deadline once,
# a fault fails twice. Notebooks in one of their own: nbval stalls beside some plugins, and loading it takes 2 s. Then once more without
# nbval, which passes a cell that starts with an unknown %magic and raises.
test: ready  ## every test, the notebooks included
	$(PY) -m ruff check .
	$(PY) -m pytest -p no:nbval -n $(JOBS) --dist loadgroup -m "not browser" || $(PY) -m pytest -p no:nbval -m "not browser" --last-failed
	$(PY) -m pytest -p no:nbval -m browser || $(PY) -m pytest -p no:nbval -m browser --last-failed
	$(PY) -m pytest --nbval --nbval-current-env -n $(JOBS) --dist loadfile notebooks
	$(PY) tests/notebook_gate.py --jobs $(JOBS)
	$(PY) scripts/build_notebooks.py --check --jobs $(JOBS)

check: ready  ## the quick part of the tests, under a minute
	$(PY) -m ruff check .
	$(PY) -m pytest -p no:nbval -q -n $(JOBS) --dist loadgroup -m "not slow and not browser and not postgres"

notebooks: ready  ## build notebooks/*.ipynb, with outputs, from notebooks/src/*.py
	$(PY) scripts/build_notebooks.py --jobs $(JOBS)
	$(PY) -m hitl_lab.course.guide

notebooks-check: ready  ## fail if a committed notebook, or the guide, differs from a fresh build
	$(PY) scripts/build_notebooks.py --jobs $(JOBS) --check
	$(PY) -m hitl_lab.course.guide --check

address:  ## write your copy's address (git remote origin) into the Binder and Colab badges
	@python3 scripts/address.py

lock: ready  ## resolve requirements.lock again (UPGRADE=1: take the newest of everything)
	UPGRADE=$(UPGRADE) scripts/lock.sh $(PY)

postgres:  ## start a private PostgreSQL server on 127.0.0.1 and print its address
	@scripts/postgres.sh start

postgres-stop:  ## stop that server and delete its data
	@scripts/postgres.sh stop

versions: ready  ## run the tracer's tests on every supported LangGraph and print the table
	$(PY) scripts/versions.py --jobs $(JOBS)

bench: ready  ## measure what recording costs
	$(PY) bench/run.py

site: ready  ## build the documentation into site/: open site/index.html, no server needed
	$(PY) scripts/build_site.py --jobs $(JOBS)

site-check: ready  ## check the built site: links, anchors, and its steppers in a browser without a network
	$(PY) scripts/check_site.py site
	HITL_LAB_SITE=site $(PY) -m pytest -p no:nbval -q tests/test_site.py

clean:  ## delete what was built; your notebooks and .venv stay
	rm -rf .run build dist site .pytest_cache .ruff_cache .hypothesis
	find hitl_lab tests scripts notebooks -name __pycache__ -type d -prune -exec rm -rf {} +
