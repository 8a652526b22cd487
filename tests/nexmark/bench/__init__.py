"""Tests of the paper's experiments; see nexmark/bench/."""
