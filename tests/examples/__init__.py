"""Tests of the example programs and of what the documents show: code that runs, errors that are said, labels."""
