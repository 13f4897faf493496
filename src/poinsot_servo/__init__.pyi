"""Public names in the order of the pipeline, and where each is defined; `__init__.py` loads them by this list."""
# ruff: noqa: I001 (the order is that of the pipeline)

# logs
from .lerobot import LeRobotDataset as LeRobotDataset
from .lerobot import open_lerobot as open_lerobot
from .lerobot import read_lerobot as read_lerobot
from .lerobot import guess_unit as guess_unit
from .logs import TopicFacts as TopicFacts
from .logs import topics as topics
from .message_log import MessageLog as MessageLog
from .recordings import read_mcap as read_mcap
from .recordings import write_mcap as write_mcap
from .recordings import read_parquet as read_parquet
from .recordings import write_parquet as write_parquet

# actuators
from .actuator import Actuator as Actuator
from .actuator import ParameterDescription as ParameterDescription
from .actuator import PARAMETERS as PARAMETERS
from .actuator import DESCRIPTIONS as DESCRIPTIONS
from .actuator import FRICTION_LAWS as FRICTION_LAWS

# estimation
from .problem import ActuatorProblem as ActuatorProblem
from .problem import OPEN as OPEN
from .search import Search as Search
from .output_error import OutputError as OutputError
from .result import Actuators as Actuators
from .equality import Equality as Equality
from .equality import equality_of_joints as equality_of_joints

# the next recording
from .randomization import Randomization as Randomization
from .randomization import randomization_of as randomization_of
from .randomization import read_randomization as read_randomization
from .randomization import write_randomization as write_randomization
from .usd_drives import usd_drives as usd_drives
from .usd_drives import write_usd_drives as write_usd_drives
from .usd_drives import read_usd_drives as read_usd_drives

# commands for the next recording
from .command_design import CommandDesign as CommandDesign
from .command_design import DesignedCommands as DesignedCommands
from .command_design import PredictedInterval as PredictedInterval
