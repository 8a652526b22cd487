# What `import tokenring as tr` gives, as type checkers and editors read it: the faces themselves, not a list of them.
from tokenring import engine as engine
from tokenring import nexmark as nexmark
from tokenring import operators as operators
from tokenring import shm as shm
from tokenring import tools as tools
from tokenring.engine import *
from tokenring.operators import *  # type: ignore[assignment]
from tokenring.operators import graphs as graphs
from tokenring.operators import mechanisms as mechanisms
from tokenring.operators.fluent import *  # type: ignore[assignment]

__version__: str
