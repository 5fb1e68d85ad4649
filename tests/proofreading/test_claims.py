"""The report as sentences, HTML and Markdown."""

from bertcalc.proofreading.proofread import proofread
from bertcalc.text.problem import Problem

TEXT = 'BERT-base <script>"x"</script>\n\nPooler: 768*768 = 589,824. Word embeddings: 23,440,896\n'


def test_it_reads_as_sentences() -> None:
    text = str(proofread(TEXT))
    assert "The text is about bert-base-uncased." in text
    assert "Claims: 2. Right: 1, wrong: 1, right under a condition: 0, not recognized: 0." in text
    assert 'The first error is "768*768 = 589,824": 590,592 is right for pooler' in text


def test_html_is_escaped_and_marked() -> None:
    html = proofread(TEXT).html()
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    assert (
        '<mark class="wrong" title="✗ 590,592 is right for pooler. The mistake: the bias of the pooler is left out.">'
        in html
    )
    assert '<mark class="right" title="✓ word embeddings">23,440,896</mark>' in html


def test_markdown_has_footnotes() -> None:
    markdown = proofread(TEXT).markdown()
    assert "768*768 = 589,824 ✗[^proof1]. Word embeddings: 23,440,896 ✓" in markdown
    assert "\n[^proof1]: 590,592 is right for pooler. The mistake: the bias of the pooler is left out.\n" in markdown


def test_the_marked_text_is_in_the_language_of_the_reader() -> None:
    def say(problem: Problem) -> str:
        return f"«{problem}»"

    report = proofread(TEXT)
    reason = "590,592 is right for pooler. The mistake: the bias of the pooler is left out."
    assert f'title="✗ «{reason}»"' in report.html(say)
    assert f"[^proof1]: «{reason}»" in report.markdown(say)
    page = report.page(say, "zh")
    assert '<html lang="zh">' in page
    assert f"<li>✗ &quot;768*768 = 589,824&quot;: «{reason}»</li>" in page
    assert '<html lang="en">' in report.page()


def test_what_is_right_under_a_condition_is_no_mistake() -> None:
    text = "BERT-base. {}the attention of one layer has 4 * 768 * 768 = 2,359,296 parameters."
    [wrong] = proofread(text.format("")).claims
    [simplified] = proofread(text.format("A simplified count: ")).claims
    assert (wrong.verdict, simplified.verdict) == ("wrong", "conditional")
    assert "The mistake: the biases of the attention are left out." in wrong.reason
    assert "This number fits if the biases of the attention are left out." in simplified.reason
    assert "mistake" not in simplified.reason
