"""What pages ask PyTorch in another process, and a process that hangs."""

from contextlib import suppress

import psutil
from playwright.sync_api import expect

from tests.browser.conftest import Look
from tests.browser.look import PYTORCH, open_page, settled, slider, total


def test_pytorch_is_asked(look: Look) -> None:
    page = look("memory?memory=activations&recompute=selective&num_hidden_layers=2")
    page.get_by_text("Check with PyTorch").click()
    expect(page.get_by_text("PyTorch counts the same: ")).to_be_visible(timeout=PYTORCH)
    page.wait_for_url("**hooks=true**")
    page.get_by_role("link", name="Compute").click()
    expect(page.get_by_test_id("stMetricValue")).to_have_count(3)
    settled(page)
    page.get_by_text("Let PyTorch count too").click()
    expect(page.get_by_text("PyTorch counts the same")).to_be_visible(timeout=PYTORCH)
    page.wait_for_url("**pytorch=true**")
    open_page(page, "Check", "Verify")
    page.get_by_text("What the forward method returns").click(timeout=PYTORCH)
    expect(page.get_by_text("The real BertModel returns the same 2 outputs.")).to_be_visible(timeout=PYTORCH)


def test_a_newer_move_takes_the_place_of_a_question_that_hangs(look: Look, running: tuple[str, int]) -> None:
    """Verify asks the worker. While the worker is stopped, the reader's next move is answered at once."""
    page = look("verify?num_hidden_layers=3")
    expect(page.get_by_text("The real BertModel agrees")).to_be_visible(timeout=PYTORCH)
    # Only this server's processes, since other tests use theirs.
    below = psutil.Process(running[1]).children(recursive=True)
    workers = []
    try:
        for one in below:
            with suppress(psutil.NoSuchProcess):  # an idle worker may end at any time
                if "bertcalc.processes.worker" in one.cmdline():
                    one.suspend()
                    workers.append(one)
        assert workers
        slider(page, "num_hidden_layers").press("ArrowRight")
        expect(page.get_by_text("Checking with the real BertModel")).to_be_visible()
        page.get_by_role("link", name="Parameters").click()
        expect(total(page)).to_have_text("52,779,264", timeout=10_000)
    finally:
        for worker in workers:
            with suppress(psutil.NoSuchProcess):
                worker.resume()
