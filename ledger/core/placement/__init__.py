"""On which nodes how many instances go, once it is known how many each of them could take.

``question``       what is asked, and what makes it malformed
``answer``         what comes out: who gets how many, or why nothing is placed
``place``          the door: checks, then the strategy
``auto``           evens out how many instances each node holds (Communism)
``fill``           tops nodes up to a number
``each``           gives every chosen node the same number (Average)
``drained``        uses up the smallest capacities first
``after_usage``    GLOBAL: always to the node that is least used with one more
``nearest_level``  GLOBAL: always to the node that comes closest to the next one
``levels``         who stands at which usage while nearest_level walks
``same_rounds``    the parts of that walk that need not be walked
``whole_numbers``  usages and rates as whole numbers, where they have a handy common unit
``reasons``        why each node got what it got

Rule, worked examples and the differences from eru: docs/core/placement.md
"""
