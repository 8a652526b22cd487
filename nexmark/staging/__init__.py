"""Staged folders: made whole or not at all, checked when opened, mapped when read."""

from tokenring.faces import later

with later(__name__):
    from tokenring.nexmark.staging.staged import StagedEvents, StagedStream
    from tokenring.nexmark.staging.staging import stage_foreign, stage_generated
