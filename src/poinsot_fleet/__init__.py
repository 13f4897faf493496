"""Many recordings and many machines: studies on any executor, and logs larger than memory.

study         many independent solves, in processes or on a cluster, that resume
store         their results on disk
parquet_log   a recording in many files, read in stretches
streaming     least squares on it
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
