"""Your model: a config.json, a name on the Hub, or a file of weights, compared with bertcalc's count."""

from pages.ui.checkpoints import inputs as bring
from pages.ui.sidebar import choice as current_choice

match bring.VIEW.show():
    case "config":
        bring.show_config(current_choice().subject)
    case "hub":
        bring.show_hub()
    case _:
        bring.show_file()
