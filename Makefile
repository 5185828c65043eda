.DEFAULT_GOAL := help
SAPO = cargo run --release --quiet --
SAPO_CUDA = cargo run --release --quiet --features cuda --

help: ## what can be made
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

ablation: ## the paper's four mixes on the embedded base model: table and plots in results/ablation
	$(SAPO) run experiments/ablation.toml

smoke: ## the same in under a minute, with few agents and rounds: results/smoke
	$(SAPO) run experiments/smoke.toml

test: ## all tests
	cargo test --release

check: ## format, lints, tests and docs, as CI does
	cargo fmt --check
	cargo clippy --release --all-targets -- -D warnings
	cargo test --release
	RUSTDOCFLAGS="-D warnings" cargo doc --release --no-deps --document-private-items

base-model: ## make models/tiny again from its recipe
	$(SAPO) pretrain experiments/base/tiny.toml

gpu-check: ## a CUDA GPU against the CPU, the paper's size for three rounds, and how long it would take
	$(SAPO_CUDA) gpu-check
	$(SAPO_CUDA) run experiments/paper-smoke.toml --device cuda --fresh

bench: ## time the hot paths
	cargo bench

.PHONY: help ablation smoke test check base-model gpu-check bench
