"""Design: the models nearest to a budget of parameters, FLOPs or memory."""

from pages.ui.design import nearest
from pages.ui.present import presenting
from pages.ui.sidebar import choice as current_choice
from pages.ui.theme import appearance

choice = current_choice()
question = nearest.choose_question(choice)
constraints = nearest.choose_constraints()
result = nearest.answer(question, constraints)
nearest.show_result(question, result, choice.config)
if not presenting():
    nearest.NEARBY.around(nearest.show_chart, question, result, appearance())
nearest.show_space(question, constraints, result)
