.PHONY: demo test check format bench tsan fuzz setup

# Each target is one script; the scripts do their own set-up in .venv.
demo:
	@tools/setup.sh run
	@.venv/bin/labeltrees demo

test:
	@tools/setup.sh dev
	@tools/test.sh

tsan:
	@tools/setup.sh dev
	@tools/sanitize.sh thread

check:
	@tools/setup.sh dev
	@tools/check.sh

format:
	@tools/setup.sh dev
	@tools/check.sh --fix

bench:
	@tools/setup.sh dev
	@.venv/bin/python benchmarks/run.py

fuzz:
	@tools/setup.sh dev
	@tools/fuzz.sh
