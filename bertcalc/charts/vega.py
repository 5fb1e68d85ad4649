"""The programs that draw charts in a browser: Vega as a script, and Vega-Lite specifications compiled to Vega.

If browsers compiled the specifications, they would load a script of twice the size, and the first chart would take
twice as long.
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from bertcalc.processes.worker import Worker

ROWS = "empty"  # Altair's name for the data of a chart that was built without data


def vega_script() -> str:
    """Return Vega as one script, which defines ``window.vega``.

    vl-convert needs 130 MB to build it, so this happens in a separate process that ends afterwards.
    """
    worker = Worker()
    try:
        return worker.run(_bundle)
    finally:
        worker.stop()


def _bundle() -> str:
    import vl_convert

    # The documentation does not mention imports, but vl-convert includes all of Vega's modules, named as on npm.
    names = "{ Error, View, parse }"
    vega = f"/npm/vega@{vl_convert.get_vega_version()}/+esm"
    return str(vl_convert.javascript_bundle(f'import {names} from "{vega}"; window.vega = {names};'))


def compiled(spec: Mapping[str, Any]) -> str:
    """Compile a Vega-Lite specification without data to a Vega specification as JSON."""
    return _compiled(json.dumps({**spec, "data": {"name": ROWS}}))


@lru_cache(maxsize=512)
def _compiled(spec: str) -> str:
    import vl_convert  # imported late: 65 MB, half a second for the first chart, 20 ms for each further chart

    vega: dict[str, Any] = vl_convert.vegalite_to_vega(spec)
    # Vega-Lite replaces an empty data set by one row without values.
    vega["data"] = [{"name": ROWS} if data["name"] == ROWS else data for data in vega["data"]]
    if height := vega.pop("usermeta", {}).get("height"):  # an expression
        del vega["height"]
        vega["signals"].insert(0, {"name": "height", "update": height})
    return json.dumps(vega)
