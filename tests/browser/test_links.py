"""The link holds the state: it can be opened, bookmarked, reloaded, and reached with Back."""

import re
from collections.abc import Callable
from urllib.parse import urlencode

from playwright.sync_api import BrowserContext, Page, WebSocketRoute, expect
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from bertcalc.explore.compare import PAIRS
from pages.ui.shell.navigation import SECTIONS
from tests.browser.conftest import Look, Open
from tests.browser.look import expect_query, number, open_page, query, ready, settled, slider, total

MODEL = {"architecture": "BertForMaskedLM", "is_decoder": "true"}
TRAINED = {"training_dtype": "mixed-16"}  # used on two pages
COMPARED = "bert-large-uncased present bert-base-chinese~num_labels-3"
SIZES = "n_layer-48~n_embd-1600~n_head-25"
# For each page, the parameters of its link besides the model, and a text that the page then shows.
LINKS: dict[str, tuple[dict[str, str], str]] = {
    "any_model": (
        {"model_type": "gpt2", "model_class": "GPT2LMHeadModel", "sizes": SIZES, "part": "transformer.h.*.attn"},
        "1,557,611,200",
    ),
    "outputs": (
        {
            "output_attentions": "true",
            "return_dict": "false",
        },
        "12 × [1 × 12 × 128 × 128]",
    ),
    "compute": (
        {
            "compute": "time",
            "logits": "masked",
            "training": "4x",
            "device": "H100",
            "utilisation": "35",
        },
        "EFLOPs",
    ),
    "memory": (
        {
            **TRAINED,
            "memory": "training",
            "optimizer": "adafactor",
            "recompute": "full",
            "fused_dropout": "false",
            "freeze_layers": "3",
        },
        "Freezing saves",
    ),
    "compare": ({"models": COMPARED, "compare_by": "forward"}, "fewer layers"),
    "sweep": (
        {"sweep": "map", "x": "vocab_size", "y": "hidden_size", "y_to": "1024", "log": "true", "tie_heads": "false"},
        "Click to use the model at that point",
    ),
    "design": (
        {
            **TRAINED,
            "budget_of": "memory",
            "target_memory": "24 GiB",
            "head_size": "32",
            "intermediate_ratio": "8/3",
            "multiple_of": "128",
            "layers_to": "12",
            "pad_vocab": "true",
        },
        "25,769,803,776",
    ),
    "tools": ({"tool": "gpu_poor"}, "gpu_poor gives"),
    "explain": ({"number": "109,089,024"}, "Read as 109,089,024"),
    "exercises": ({"level": "medium", "seed": "7", "exercise": "4", "solutions": "true"}, "4 · The whole model"),
}
# All visible text, the values of fields, and the selected options.
_SAID = """() => {
    const main = document.querySelector("[data-testid=stMain]");
    const fields = [...main.querySelectorAll("input, textarea")].map((one) => `${one.value} ${one.checked}`);
    const chosen = [...main.querySelectorAll("[role=radio][aria-checked=true]")].map((one) => one.textContent);
    return [main.innerText.replaceAll("\u00a0", " "), ...fields, ...chosen];
}"""


def said(page: Page, link: dict[str, str]) -> list[str]:
    """Return everything that the page shows once the link has these parameters."""
    expect_query(page, link)
    settled(page)
    found: list[str] = page.evaluate(_SAID)
    return found


def go(page: Page, path: str) -> None:
    """Go to a page through the navigation."""
    [(section, name)] = [(section, of[path].title) for section, of in SECTIONS.items() if path in of]
    if section:
        open_page(page, section, name)
    else:
        page.get_by_role("link", name=name, exact=True).click()
    # The address changes before the run begins, the title after.
    expect(page).to_have_title(re.compile(f"^{re.escape(name)} · "))


def test_the_link_of_every_page_shows_the_same_after_all_others(look: Look) -> None:
    before = {}
    for path, (own, shown) in LINKS.items():
        page = look(f"{path}?{urlencode(MODEL | own)}")
        before[path] = said(page, MODEL | own)
        assert shown in before[path][0]
    listed = {path for entries in SECTIONS.values() for path, entry in entries.items() if entry.is_listed}
    for path, (own, _shown) in LINKS.items():
        if path not in listed:
            continue
        go(page, path)
        assert said(page, MODEL | own) == before[path]


def test_the_batch_is_that_of_all_pages(visit: Open) -> None:
    batch = {"batch_size": "4", "sequence_length": "256"}
    page = visit(f"compute?{urlencode(batch)}")
    before = said(page, batch)
    page.get_by_role("link", name="Parameters").click()
    ready(page)
    go(page, "outputs")
    assert "4 × 256 × 768" in said(page, batch)[0]
    go(page, "compute")
    assert said(page, batch) == before


def test_state_survives_page_switches_and_reload(visit: Open) -> None:
    page = visit("?vocab_size=21128&architecture=BertForMaskedLM&lang=zh&max_position_embeddings=1024&is_decoder=true")
    expect(total(page)).to_have_text("102,683,528")
    before = query(page)
    open_page(page, "核对", "其他工具")
    expect(page.get_by_role("cell", name="102,683,528").first).to_be_visible()
    expect_query(page, before)
    page.get_by_role("link", name="参数量").click()
    expect(total(page)).to_have_text("102,683,528")
    expect_query(page, before)
    page.reload()
    expect(total(page)).to_have_text("102,683,528")
    expect_query(page, before)


def test_back_and_forward_go_through_what_was_seen(look: Look) -> None:
    page = look()
    ready(page)
    slider(page, "num_hidden_layers").press("ArrowRight")
    expect(total(page)).to_have_text("116,570,112")
    page.get_by_role("link", name="Modules").click()
    expect(page.get_by_text("BertModel(")).to_be_visible()
    page.go_back()
    expect(total(page)).to_have_text("116,570,112")
    expect(number(page, "num_hidden_layers")).to_have_value("13")
    page.go_back()
    expect(total(page)).to_have_text("109,482,240")
    expect(number(page, "num_hidden_layers")).to_have_value("12")
    expect_query(page, {})
    page.go_forward()
    expect(total(page)).to_have_text("116,570,112")


def test_a_preset_is_a_short_link_and_fields_come_on_top(look: Look) -> None:
    page = look("?preset=bert-large-uncased&vocab_size=21128")
    expect(total(page)).to_have_text("325,522,432")
    page.get_by_role("combobox", name="Start from").click()
    page.get_by_role("option", name="bert-base-chinese", exact=True).click()
    expect(total(page)).to_have_text("102,267,648")
    page.wait_for_url("**/?preset=bert-base-chinese")


def test_an_impossible_pair_in_a_link_is_explained(visit: Open) -> None:
    page = visit("outputs?hidden_size=770")
    expect(page.get_by_text("use 768 or 780")).to_be_visible()
    page.get_by_role("button", name="hidden_size = 780").click()
    expect(page.get_by_text("use 768 or 780")).to_have_count(0)
    page.wait_for_url("**/outputs?hidden_size=780")


def test_wrong_values_are_named_and_back_to_them_does_no_harm(visit: Open) -> None:
    """The test includes fields without a visible control.

    A folded section is drawn once one of its values has changed.
    """
    wrong = "hidden_size=inf&num_labels=inf&layer_norm_eps=two&batch_size=inf&lng=zh"
    page = visit(f"layers?vocab_size=21128&num_hidden_layers=6&{wrong}")
    expect(page.get_by_text("hidden_size=inf in the link is invalid")).to_be_visible()
    expect(page.get_by_text("batch_size=inf in the link is invalid")).to_be_visible()
    expect(page.get_by_text("lng in the link is unknown: did you mean lang?")).to_be_visible()
    page.wait_for_url(lambda url: "hidden_size" not in url)
    expect_query(page, {"vocab_size": "21128", "num_hidden_layers": "6"})
    page.go_back()
    # Wait for the run that Back causes.
    page.wait_for_url(lambda url: "hidden_size" not in url and "batch_size" not in url)
    for field, value in (("hidden_size", "768"), ("num_hidden_layers", "6"), ("Batch size", "1")):
        expect(number(page, field)).to_have_value(value)
    expect(page.get_by_text("could not be shown")).to_have_count(0)
    settled(page)


def test_a_page_that_is_opened_is_one_step_and_back_leads_to_all_that_the_page_before_showed(
    context: BrowserContext, server: str
) -> None:
    shared = {"batch_size": "4", "sequence_length": "256"}
    own = {"memory": "training", "optimizer": "sgd", "accumulate": "3"}
    page = context.new_page()  # a new page with an empty history, since a history holds 50 entries
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(f"{server}/memory?{urlencode(shared | own)}")
    shown = said(page, shared | own)
    before = page.evaluate("history.length")
    go(page, "compute")
    there = said(page, shared)
    assert page.evaluate("history.length") == before + 1
    page.go_back()
    expect(page).to_have_title(re.compile("^Memory · "))
    assert said(page, shared | own) == shown
    page.go_forward()
    expect(page).to_have_title(re.compile("^Compute · "))
    assert said(page, shared) == there
    page.close()


class Late:
    """The server's messages to a page, which can be delayed."""

    def __init__(self, page: Page) -> None:
        self.holds = False
        self.went_back = False  # whether the page has reported Back to the server
        self._held: list[str | bytes] = []
        page.route_web_socket("**/_stcore/stream", self._join)

    def _join(self, socket: WebSocketRoute) -> None:
        self._socket, server = socket, socket.connect_to_server()
        server.on_message(lambda message: self._held.append(message) if self.holds else socket.send(message))

        def to_server(message: str | bytes) -> None:
            if isinstance(message, bytes):
                self.went_back |= BackMsg.FromString(message).rerun_script.is_history_navigation
            server.send(message)

        socket.on_message(to_server)

    def has_address(self) -> bool:
        """Whether a message that changes the address is delayed."""
        messages = (ForwardMsg.FromString(held) for held in self._held if isinstance(held, bytes))
        return any(message.WhichOneof("type") == "page_info_changed" for message in messages)

    def send(self) -> None:
        """Send the delayed messages, and delay no more."""
        self.holds = False
        for message in self._held:
            self._socket.send(message)


def test_what_a_run_writes_after_back_was_pressed_does_not_replace_the_address(
    context: BrowserContext, server: str
) -> None:
    page = context.new_page()
    late = Late(page)
    page.goto(f"{server}/compare?compare=table")
    expect(page.get_by_role("cell", name="335,141,888")).to_be_visible(timeout=60_000)
    page.get_by_role("button", name="uncased and Chinese").click()
    expect(page.get_by_role("cell", name="102,267,648")).to_be_visible()
    settled(page)
    page.get_by_role("button", name="3 and 12 heads").click()
    expect(page.get_by_role("cell", name="102,267,648")).to_have_count(0)
    settled(page)
    late.holds = True
    page.get_by_role("button", name="tied and untied").click()
    _until(page, late.has_address)
    page.evaluate("history.back()")
    _until(page, lambda: late.went_back)
    page.evaluate("history.back()")
    page.wait_for_url("**/compare?compare=table")
    late.send()
    expect(page.get_by_role("cell", name="335,141,888")).to_be_visible()
    settled(page)
    expect_query(page, {"compare": "table"})
    page.go_forward()
    expect(page.get_by_role("cell", name="102,267,648")).to_be_visible()
    expect_query(page, {"compare": "table", "models": PAIRS["vocabulary"].models})
    page.close()


def _until(page: Page, is_so: Callable[[], bool]) -> None:
    for _turn in range(1000):
        if is_so():
            return
        page.wait_for_timeout(20)
    raise TimeoutError
