"""Laws that hold for every metric of every task, and the protocol of the data that they are tested on.

    from steelyard.testing import Drawn, as_test, laws

    test_laws = as_test(laws(TASK, Drawn(draw, perfect)))

Nothing here needs pytest but `as_test`: a law is called, and raises AssertionError where it does not hold.
"""

from steelyard.testing.case import Case
from steelyard.testing.collect import Law, as_test, laws
from steelyard.testing.drawn import Drawn

__all__ = ["Case", "Drawn", "Law", "as_test", "laws"]
