"""Tests of what every benchmark is made of; see nexmark/bench/parts/."""
