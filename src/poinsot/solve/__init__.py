"""What every method of estimation shares: how it reports progress and how it is stopped."""

from .progress import Progress, ProgressCallback, Stop, report, stop_requested

__all__ = ["Progress", "ProgressCallback", "Stop", "report", "stop_requested"]
