"""Identify the arm of examples/arm, write the report, and compare the estimate with the true parameters.

`make demo` runs this. The recordings are simulated (see examples/arm/record.py), so the true parameters are known.
"""

import sys
from pathlib import Path

import poinsot

ARM = Path(__file__).parent / "arm"
sys.path.insert(0, str(ARM))

from record import truth  # noqa: E402


def main(folder: Path) -> None:
    estimate = poinsot.identify(poinsot.Project.load(ARM / "job.toml"))
    folder.mkdir(parents=True, exist_ok=True)
    page = poinsot.write_report(estimate, folder / "report.html")

    print(f"{'parameter':<10}{'truth':>10}{'estimate':>11}{'+- std':>9}  unit")
    for name, true, value, std, unit in zip(
        estimate.names,
        estimate.problem.base.map @ truth(),
        estimate.values,
        estimate.std,
        estimate.units,
        strict=True,
    ):
        print(f"{name:<10}{true:>10.4f}{value:>11.4f}{std:>9.4f}  {unit}")
    print(
        f"\nrelative error of the torques: {estimate.fit.relative_error_percent:.2f} % fitted, "
        f"{estimate.validation[0].relative_error_percent:.2f} % on a held-out motion"
    )
    print(f"report: {page}")
    print("same job on the command line: .venv/bin/poinsot identify examples/arm/job.toml --out poinsot-demo")


if __name__ == "__main__":
    main(Path("poinsot-demo"))
