.DEFAULT_GOAL := help
SAPO = cargo run --release --quiet --
FINDINGS = control controls optimizer frontier start-0.2 start-1 start-5 start-25 league/league-19200
SAPO_CUDA = cargo run --release --quiet --features cuda --

help: ## what can be made
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

ablation: ## the paper's four mixes on the embedded base model, five seeds: table and plots in results/ablation
	$(SAPO) run experiments/ablation.toml

ablation-quick: ## the same with one seed: results/ablation-quick
	$(SAPO) run experiments/ablation-quick.toml

smoke: ## the same in under a minute, with few agents and rounds: results/smoke
	$(SAPO) run experiments/smoke.toml

test: ## all tests
	cargo test --release

test-nats: ## swarms of several processes, over a real server: nats-server, or SAPO_NATS_SERVER
	cargo test --release --test it -- --ignored nats

swarm-demo: ## a broker and four nodes of two agents each on this machine, and the same in one process
	cargo build --release --quiet
	experiments/swarm-demo.sh

check: ## format, lints, tests and docs, as CI does
	cargo fmt --check
	cargo clippy --release --all-targets -- -D warnings
	cargo test --release
	RUSTDOCFLAGS="-D warnings" cargo doc --release --no-deps --document-private-items

replication: ablation start-models ## every experiment of the README's findings; plan a night
	for name in $(FINDINGS); do $(SAPO) run experiments/$$name.toml || exit 1; done

base-models: ## make models/tiny, models/strong and models/small again from their recipes
	$(SAPO) pretrain experiments/base/tiny.toml
	$(SAPO) pretrain experiments/base/strong.toml
	$(SAPO) pretrain experiments/base/small.toml

start-models: ## base models whose rewarded form is rare or common, three of each: models/start
	for seed in 1 2 3; do \
	  for start in 0.2:0.00198 1:0.01 5:0.0521 25:0.33; do \
	    $(SAPO) pretrain experiments/base/start.toml --set seed=$$seed --set forms.0.proportion=$${start##*:} \
	      --set out=models/start/$${start%%:*}-$$seed || exit 1; \
	  done; \
	done

gpu-check: ## a CUDA GPU against the CPU, the paper's size for three rounds, and how long it would take
	$(SAPO_CUDA) gpu-check
	$(SAPO_CUDA) run experiments/paper-smoke.toml --device cuda --fresh

bench: ## time the hot paths
	cargo bench --bench hot_paths --bench tasks

bench-vs-pytorch: ## time generation, update and round against PyTorch, see benches/vs_pytorch
	python3 benches/vs_pytorch/compare.py

scaling: ## time and memory of a round by agents and by length: results/scaling
	cargo bench --quiet --bench scaling -- results/scaling

.PHONY: help ablation ablation-quick replication smoke test test-nats swarm-demo check base-models start-models gpu-check bench bench-vs-pytorch scaling
