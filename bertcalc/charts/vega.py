"""The programs that draw charts in a browser: Vega as a script, and Vega-Lite specifications compiled to Vega.

If browsers compiled them, they would load a script of twice the size, and take twice as long for the first chart.
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from bertcalc.processes.worker import Worker

ROWS = "empty"  # Altair's name for the data of a chart that it got without data


def vega_script() -> str:
    """Vega as one script, which defines ``window.vega``. Its process ends: vl-convert takes 130 MB for this."""
    worker = Worker()
    try:
        return worker.run(_bundle)
    finally:
        worker.stop()


def _bundle() -> str:
    import vl_convert

    # vl-convert's documentation leaves imports out, but all of Vega's modules are in it, under their names on npm.
    names = "{ Error, View, parse }"
    vega = f"/npm/vega@{vl_convert.get_vega_version()}/+esm"
    return str(vl_convert.javascript_bundle(f'import {names} from "{vega}"; window.vega = {names};'))


def compiled(spec: Mapping[str, Any]) -> str:
    """A chart's Vega specification as JSON, from its Vega-Lite specification without data."""
    return _compiled(json.dumps({**spec, "data": {"name": ROWS}}))


@lru_cache(maxsize=512)
def _compiled(spec: str) -> str:
    import vl_convert  # 65 MB, half a second for the first chart, and 20 ms for another

    vega: dict[str, Any] = vl_convert.vegalite_to_vega(spec)
    # Vega-Lite makes a row without values of a data set that is empty.
    vega["data"] = [{"name": ROWS} if data["name"] == ROWS else data for data in vega["data"]]
    return json.dumps(vega)
