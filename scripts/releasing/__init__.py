"""Makes the files of a release, checks them, and proves wheels in empty environments; `scripts/release` runs it."""
