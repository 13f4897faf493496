"""Many recordings and many machines: studies on any executor, and logs larger than memory.

study         many independent solves, in processes or on a cluster, that resume
store         their results on disk
fleet         a project's estimate of each of many logs, pooled
logs          which files those are, of which robot and day
random_effects  what differs between robots and between days
page, verb    one page of a fleet; what `poinsot identify` does with a pattern
log           a recording in many files, read in stretches
parquet_log   the same of Parquet files
streaming     least squares on it
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
