"""Tests of tables and plots; see nexmark/bench/rendering/."""
