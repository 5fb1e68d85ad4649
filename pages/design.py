"""Design: the models nearest to a budget of parameters, FLOPs or memory."""

from bertcalc.explore.design import search
from pages.ui.explore import design
from pages.ui.present import presenting
from pages.ui.sidebar import choice as current_choice
from pages.ui.theme import appearance

choice = current_choice()
question = design.choose_question(choice)
constraints = design.choose_constraints()
result = search(question.case, question.budget, constraints, design.DRAWN)
design.show_result(question, result, choice.config)
design.show_space(question, constraints, result)
if not presenting():
    design.show_chart(question, result, appearance())
