"""C99 of a result: a header, a source and a test, without dependencies, allocation or mutable globals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..arrays import JointSamples
from ..parameters import rescaled
from .expressions import FUNCTIONS, Language, statements
from .routines import Routine, Routines

C99 = Language(
    dict(zip(FUNCTIONS, FUNCTIONS, strict=True)) | {"arctan": "atan", "abs": "fabs", "pow": "pow"},
    "const double {name} = {value}",
    "({condition})",
)

TOLERANCE = 1e-12
"""Largest difference of the code to the prediction of the result, relative to the largest effort."""


@dataclass(frozen=True, eq=False)
class CheckedMotion:
    """A motion to test code with. `q`, `v`, `a`: (k, n). `tau`: (k, e) predicted efforts. `measured`: (k, e); None: the
    motion is not a recorded one. `source`: words.
    """

    q: JointSamples
    v: JointSamples
    a: JointSamples
    tau: JointSamples
    measured: JointSamples | None
    source: str


@dataclass(frozen=True, eq=False)
class CodeOrigin:
    """What generated code says of where it is from. `version`: of poinsot. `result`: name of the file. `sha256`: of the
    result. `method`: that identified it. `trust`: in words.
    """

    version: str
    result: str
    sha256: str
    method: str
    trust: str

    def lines(self, robot: str) -> list[str]:
        return [
            f"Dynamics of {robot}, identified by {self.method} ({self.trust}).",
            "",
            f"Written by poinsot {self.version} from {self.result}, SHA-256",
            f"{self.sha256}.",
        ]


def c_files(routines: Routines, name: str, origin: CodeOrigin, regressor: bool = False) -> dict[str, str]:
    """File name -> text of header and source. `name`: begins all names of the code."""
    every = routines.all(regressor)
    return {
        f"{name}.h": "\n".join(_header(routines, every, name, origin)),
        f"{name}.c": "\n".join(_source(routines, every, name, origin)),
    }


def c_test(routines: Routines, name: str, samples: CheckedMotion) -> str:
    """A program that compares the code with predictions, and with the measured efforts where they are known."""
    return "\n".join(_test(routines, name, samples))


def facts(routines: Routines) -> list[str]:
    """Lines of a comment: joints and parameters with their order and units."""
    robot, units = routines.robot, list(routines.units)
    efforts = dict(zip(robot.effort_names, units, strict=True))
    width = max(map(len, robot.joints))
    lines = ["Units are SI. Joints, in the order of q, v and a; efforts are those at the joints:"]
    for k, (joint, unit) in enumerate(zip(robot.joints, robot.position_units, strict=True)):
        effort = (
            f"effort [{efforts[joint]}]" if joint in efforts else "no effort: its equation was not measured"
        )
        lines.append(f"  {k:>3}  {joint:<{width}}  position [{unit}], {effort}")
    if routines.left_out:
        lines += [
            "",
            f"Efforts that depend on recorded channels are left out: {', '.join(routines.left_out)}.",
        ]
    if set(units) <= {"A", "V"}:
        lines += [
            "",
            f"No gain converts efforts to torques: all numbers are in {units[0]}, and masses not in kg.",
        ]
    lines += [
        "",
        "Parameters, in their order; where the result has a sum of several, it is the value of one of them:",
    ]
    parameters = robot.parameters
    scaled = rescaled(parameters.units, units[0]) if set(units) <= {"A", "V"} else parameters.units
    rows = zip(parameters.names, scaled, parameters.kinds, parameters.owners, strict=True)
    for k, (symbol, unit, kind, owner) in enumerate(rows):
        lines.append(f"  {k:>3}  {symbol:<8} [{unit}]  {kind.replace('_', ' ')} of {owner}")
    return lines


def _comment(lines: list[str]) -> Iterator[str]:
    """Lines as a comment; what would end it is broken."""
    yield "/*"
    yield from (f" * {line}".rstrip().replace("*/", "* /") for line in lines)
    yield " */"


def _header(routines: Routines, every: list[Routine], name: str, origin: CodeOrigin) -> Iterator[str]:
    guard, n = f"{name.upper()}_H", routines.size
    yield from _comment([*origin.lines(routines.robot.name), "", *facts(routines)])
    yield f"#ifndef {guard}\n#define {guard}\n"
    sizes = {
        "JOINTS": n,
        "EFFORTS": len(routines.robot.equations),
        "PARAMETERS": len(routines.dynamics.theta),
    }
    yield from (f"#define {name.upper()}_{key} {size}" for key, size in sizes.items())
    yield '\n#ifdef __cplusplus\nextern "C" {\n#endif\n'
    yield "/* Identified values. */"
    yield f"extern const double {name}_parameters[{name.upper()}_PARAMETERS];\n"
    yield f"/* Efforts that a motion takes, with friction. tau[{sizes['EFFORTS']}] */"
    yield f"{_inverse_dynamics(name)};\n"
    for routine in every:
        yield f"/* {routine.meaning} {routine.result}[{len(routine.values)}] */"
        yield f"{_signature(routine, name)};\n"
    yield "#ifdef __cplusplus\n}\n#endif\n\n#endif\n"


def _source(routines: Routines, every: list[Routine], name: str, origin: CodeOrigin) -> Iterator[str]:
    yield from _comment(origin.lines(routines.robot.name))
    yield f'#include "{name}.h"\n'
    yield "#include <math.h>\n"
    parameters = zip(routines.robot.parameters.names, routines.dynamics.theta.tolist(), strict=True)
    rows = [f"    {value!r}, /* {symbol} */" for symbol, value in parameters]
    yield f"const double {name}_parameters[{name.upper()}_PARAMETERS] = {{"
    yield from (*rows[:-1], rows[-1].replace(",", "", 1), "};\n")
    for routine in every:
        targets = {f"{routine.result}[{k}]": value for k, value in enumerate(routine.values)}
        lines = list(statements(C99, targets))
        yield f"{_signature(routine, name)}\n{{"
        # an argument that no line reads would be a warning
        text = "\n".join(lines)
        yield from (f"    (void){array};" for array in routine.arguments if f"{array}[" not in text)
        yield from (f"    {line};" for line in lines)
        yield "}\n"
    yield f"{_inverse_dynamics(name)}\n{{"
    yield f"    {name}_inverse_dynamics_with({name}_parameters, q, v, a, tau);\n}}\n"


def _signature(routine: Routine, name: str) -> str:
    given = ", ".join(f"const double *{array}" for array in routine.arguments)
    return f"void {name}_{routine.name}({given}, double *{routine.result})"


def _inverse_dynamics(name: str) -> str:
    return f"void {name}_inverse_dynamics(const double *q, const double *v, const double *a, double *tau)"


def _test(routines: Routines, name: str, samples: CheckedMotion) -> Iterator[str]:
    n, e, k = routines.size, len(routines.robot.equations), len(samples.q)
    parts = [samples.q, samples.v, samples.a, samples.tau]
    parts += [] if samples.measured is None else [samples.measured]
    yield from _comment(
        [
            f"{k} samples of {samples.source}: q, v, a, and the efforts that the result predicts"
            + ("." if samples.measured is None else ", then the measured ones."),
            "",
            f"    cc -std=c99 -O2 {name}_test.c {name}.c -lm -o {name}_test && ./{name}_test",
        ]
    )
    yield f'#include "{name}.h"\n\n#include <math.h>\n#include <stdio.h>\n'
    width = sum(part.shape[1] for part in parts)
    yield f"static const double samples[{k}][{width}] = {{"
    for row in np.concatenate(parts, axis=1).tolist():
        yield f"    {{{', '.join(map(repr, row))}}},"
    yield "};\n\nint main(void)\n{"
    yield f"    double tau[{e}], off = 0.0, size = 0.0, error = 0.0, all = 0.0;\n    int i, k;"
    yield f"    for (k = 0; k < {k}; k++) {{\n        const double *x = samples[k];"
    yield f"        {name}_inverse_dynamics(x, x + {n}, x + {2 * n}, tau);"
    yield f"        for (i = 0; i < {e}; i++) {{"
    yield f"            const double predicted = x[{3 * n} + i];"
    yield "            off = fmax(off, fabs(tau[i] - predicted));\n            size = fmax(size, fabs(predicted));"
    if samples.measured is not None:
        measured = f"x[{3 * n + e} + i]"
        yield f"            error += (tau[i] - {measured}) * (tau[i] - {measured});"
        yield f"            all += {measured} * {measured};"
    yield "        }\n    }"
    yield '    printf("largest difference to the prediction: %.2g of the largest effort\\n", off / size);'
    if samples.measured is None:
        yield "    (void)error, (void)all;"
    else:
        yield '    printf("relative error of the recorded efforts: %.2f %%\\n", 100.0 * sqrt(error / all));'
    yield f"    return off <= {TOLERANCE!r} * size ? 0 : 1;\n}}\n"
