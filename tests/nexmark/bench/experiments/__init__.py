"""Tests of the experiments; see nexmark/bench/experiments/."""
