"""Verify: the real Hugging Face model, built and compared with ours; and what others have published."""

import streamlit as st

from bertcalc import build
from bertcalc.forward.outputs import problems
from bertcalc.presets import PUBLISHED
from pages.ui import forward_proof, proof, tables
from pages.ui.call import last_call, written
from pages.ui.i18n import translator
from pages.ui.numbers import size
from pages.ui.sidebar import choice as current_choice

_ = translator()
choice = current_choice()
config = proof.buildable(choice.config)
prove_forward = st.cache_data(max_entries=100, show_spinner=False)(forward_proof.prove)
prove = st.cache_data(max_entries=100, show_spinner=False)(proof.prove)

if not proof.installed():
    st.info(
        _(
            "This page compares with the real model and needs torch and transformers, which are not installed here: "
            "pip install -r requirements.txt brings both. All other pages work without them."
        )
    )
else:
    if config != choice.config:
        st.warning(
            _(
                "transformers 5 no longer builds position_embedding_type {kind}. Checked below is the same model with "
                "absolute positions. What {kind} adds ({added:,} parameters) is checked by the test suite, against "
                "transformers 4.57 in an environment of its own."
            ).format(
                kind=choice.config.position_embedding_type,
                added=proof.not_checked(choice.config, choice.architecture, choice.options),
            )
        )
    with st.spinner(_("Building the real {architecture} ...").format(architecture=choice.architecture)):
        result = prove(config, choice.architecture, choice.options)
    if result.agrees:
        st.success(
            _("The real {architecture} agrees: {tensors} tensors, {parameters} parameters.").format(
                architecture=choice.architecture,
                tensors=result.theirs("Tensors"),
                parameters=result.theirs("Parameters"),
            ),
            icon=":material/verified:",
        )
    else:
        st.error(
            _("The real {architecture} differs. Tensors that are not the same: {count:,}.").format(
                architecture=choice.architecture, count=len(result.differences)
            ),
            icon=":material/error:",
        )
        tables.show_differences(result.differences)
    st.caption(
        _("Built without weights in {build:,.0f} ms, compared in {compare:,.0f} ms, with {versions}.").format(
            build=result.build_ms,
            compare=result.compare_ms,
            versions=", ".join(f"{name} {version}" for name, version in result.versions.items()),
        )
    )
    tables.show_checks(result.checks)

    st.subheader(_("With real weights"))
    needed = proof.needed_bytes(build(config, choice.architecture, **choice.options))
    available = proof.available_bytes()
    st.markdown(
        _("A model with real (random) weights and one forward pass need {needed}; {available} are free here.").format(
            needed=size(needed), available=size(available)
        )
    )
    does_not_fit = _("That does not fit. Choose a smaller model, or run the app on a larger machine.")
    if needed > available:
        st.error(does_not_fit)
    elif choice.architecture == "BertForQuestionAnswering" and config.num_labels != 2:
        st.error(
            _("BertForQuestionAnswering needs num_labels 2 for a forward pass: the start and the end of an answer.")
        )
    elif st.button(_("Build it and run it"), icon=":material/play_arrow:"):
        try:
            with st.spinner(_("Building and running ...")):
                run = proof.run_forward(config, choice.architecture, choice.options)
        except MemoryError:
            st.error(does_not_fit)
        else:
            tables.show_run(run)

    st.subheader(_("What the forward method returns"))
    call = last_call(config, choice.architecture)
    st.caption(_("With the arguments of the Outputs page: {arguments}").format(arguments=written(call)))
    if problem := next(problems(config, choice.architecture, call), None):
        st.error(_(problem.message))
    elif not forward_proof.countable(config, choice.architecture, choice.options, call):
        st.error(_("These tensors are too large for PyTorch to count. Choose a smaller batch or a shorter sequence."))
    else:
        with st.spinner(_("Running the real {architecture} ...").format(architecture=choice.architecture)):
            compared = prove_forward(config, choice.architecture, choice.options, call)
        if all(comparison.agrees for comparison in compared):
            st.success(
                _("The real {architecture} returns the same {outputs:,} outputs.").format(
                    architecture=choice.architecture, outputs=len(compared)
                ),
                icon=":material/verified:",
            )
        else:
            st.error(
                _("The real {architecture} returns something else.").format(architecture=choice.architecture),
                icon=":material/error:",
            )
        tables.show_comparisons(compared)

st.subheader(_("Published counts"))
tables.show_published(PUBLISHED)
