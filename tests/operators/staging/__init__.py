"""Tests of staged tables: what is written is read, what is proved holds, and a folder appears whole or not at all."""
