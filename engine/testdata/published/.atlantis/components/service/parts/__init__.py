"""The parts of a worker."""
from .queue import DeadLetterQueue
from .trust import EXECUTION, role_for
