.PHONY: demo serve docs test sanitized check format bench tsan tsan-learners fuzz setup wheel compilers

# Each target is one script; set-up is done in .venv. `make -j2 check test` runs side by side what
# does not keep all cores busy.
demo:
	@tools/setup.sh run
	@.venv/bin/labeltrees demo

serve:
	@tools/setup.sh serve
	@.venv/bin/labeltrees serve

docs:
	@tools/docs.sh

setup:
	@tools/setup.sh dev

test: sanitized
	@tools/test.sh

sanitized: setup
	@tools/sanitize.sh address,undefined

tsan: setup
	@tools/sanitize.sh thread

# The part of it that every commit is tried with.
tsan-learners: setup
	@tools/sanitize.sh thread learners

check: setup
	@tools/check.sh

format: setup
	@tools/check.sh --fix

bench: setup
	@.venv/bin/python benchmarks/run.py

fuzz: setup
	@tools/fuzz.sh

wheel:
	@tools/wheel.sh

compilers: setup
	@tools/compilers.sh
