"""Design: the models nearest to a budget of parameters, FLOPs or memory."""

from pages.ui.explore import design
from pages.ui.present import presenting
from pages.ui.sidebar import choice as current_choice
from pages.ui.theme import appearance

choice = current_choice()
question = design.choose_question(choice)
constraints = design.choose_constraints()
result = design.answer(question, constraints)
design.show_result(question, result, choice.config)
if not presenting() and (nearby := design.NEARBY.unfolded()):
    with nearby:
        design.show_chart(question, result, appearance())
design.show_space(question, constraints, result)
