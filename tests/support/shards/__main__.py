"""Print the statements that Citus cannot run, or would run on undeclared shards."""

import sys

from tests.support.shards.exceptions import unexpected
from tests.support.shards.tree import violations

found = unexpected(violations())
for line in found:
    print(line)
sys.exit(bool(found))
