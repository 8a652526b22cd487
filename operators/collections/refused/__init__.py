"""What collections refuse: what their operators cannot take, and methods that they do not have."""

from tokenring.faces import later

with later(__name__):
    from tokenring.operators.collections.refused.arguments import as_null, became_nullable, require_one_kind, span_back
    from tokenring.operators.collections.refused.elsewhere import no_method
