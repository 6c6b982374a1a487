"""How well a text is predicted by whoever has no model of it."""

import math
from collections import Counter
from collections.abc import Sequence


def perplexity(samples: Sequence[Sequence[int]], vocabulary: int) -> float:
    """Return that of a guess by how often each token occurs in the other samples.

    Tokens that do not occur there share what is left of the probability (Witten and Bell); a
    guess among all tokens alike is taken where that is better.
    """
    everywhere = Counter(token for tokens in samples for token in tokens[1:])
    loss, places = 0.0, 0
    for tokens in samples:
        others = everywhere - Counter(tokens[1:])
        seen, kinds = others.total(), len(others)
        for token in tokens[1:]:
            known = (others[token] + kinds / vocabulary) / (seen + kinds) if seen else 0.0
            loss -= math.log(known or 1 / vocabulary)
        places += len(tokens) - 1
    return min(float(vocabulary), math.exp(loss / places))
