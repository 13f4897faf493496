from .fleet import Fleet as Fleet, FleetEstimate as FleetEstimate
from .log import BlockLog as BlockLog, open_log as open_log
from .logs import Log as Log, find_logs as find_logs
from .parquet_log import ParquetLog as ParquetLog
from .random_effects import RandomEffects as RandomEffects, random_effects as random_effects
from .store import Store as Store
from .streaming import Blocks as Blocks, stream_least_squares as stream_least_squares
from .study import (
    Serial as Serial,
    Study as Study,
    StudyInterrupted as StudyInterrupted,
    chosen as chosen,
    cluster as cluster,
    processes as processes,
)
