# What `import tokenring as tr` gives, as type checkers and editors read it: the faces themselves, not a list of them.
# Where two have a name, mypy takes the first and others the last: so the one with the methods stands at both ends.
from tokenring import engine as engine
from tokenring import nexmark as nexmark
from tokenring import operators as operators
from tokenring import shm as shm
from tokenring import spark as spark
from tokenring import tools as tools
from tokenring.operators.fluent import *
from tokenring.operators import *
from tokenring.engine import *  # type: ignore[assignment]
from tokenring.operators import *
from tokenring.operators.fluent import *
from tokenring.operators import graphs as graphs
from tokenring.operators import mechanisms as mechanisms

__version__: str
