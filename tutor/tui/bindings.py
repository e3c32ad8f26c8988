"""Every key of the program, in one list.

Screens take their `BINDINGS` from here by id, so that the footer, the help screen (F1) and the command palette
can never disagree about what a key does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from textual.binding import Binding, BindingType


@dataclass(frozen=True)
class Key:
    """One thing that a person can do with a key."""

    id: str
    keys: str
    """Comma-separated, in Textual's names; the first one is shown."""
    action: str
    label: str
    """The footer's one or two words."""
    tooltip: str
    """A full sentence for help and palette."""
    group: str
    show: bool = True
    """Whether the footer has it; help and palette always do."""
    display: str | None = None

    @property
    def shown(self) -> str:
        """The key as people write it."""
        first = self.keys.split(",")[0]
        return self.display or (first.upper() if first.startswith("f") and len(first) > 1 else first)


# F-keys and Ctrl+letters only where an editor may have the focus: terminals and tmux turn Ctrl+Enter, Alt+Enter and
# Ctrl+I/M/H/J/[ into other keys. None of them is a priority binding: those overtake the keys that still wait in the
# focused editor's own queue, and a fast typist's last words would not be handed in.
KEYS: Final = (
    Key("help", "f1", "app.show_keys", "help", "Show what this screen is for and its keys.", "Program"),
    Key("palette", "ctrl+p", "app.command_palette", "palette", "Find a command by name.", "Program", display="^P"),
    Key("quit", "ctrl+q", "app.leave", "quit", "Leave the program; what you wrote is kept.", "Program", show=False,
        display="^Q"),
    Key("back", "escape", "back", "back", "Go back one place; what you wrote is kept.", "Program", display="Esc"),
    Key("continue", "c", "continue_interview", "continue", "Take up the unfinished interview.", "Home"),
    Key("interview", "i", "start_interview", "interview",
        "Choose an interview: 25 minutes, an hour, weak topics, a lesson.", "Home"),
    Key("end", "x", "end_interview", "end it", "End the chosen unfinished interview; what was answered stays.", "Home"),
    Key("lesson", "l", "read_lesson", "lesson", "Read the chosen lesson.", "Home"),
    Key("find", "slash", "find_item", "find", "Find one item by word, kind, topic or difficulty.", "Home",
        display="/"),
    Key("drills", "d", "start_drills", "drills", "Drill what is due, and a few new items.", "Home"),
    Key("progress", "p", "open_progress", "progress", "See mastery, calibration, history and forecast.", "Home"),
    Key("model", "m", "app.open_model_screen", "model", "See which model grades, and get a better one.", "Home"),
    Key("lab", "b", "app.open_lab", "lab", "Open the lab: scenarios, predictions and claims in the simulator.", "Home"),
    Key("settings", "s", "app.open_settings", "settings", "See every setting and where it comes from.", "Home"),
    Key("quit-home", "q", "app.leave", "quit", "Leave the program; what you wrote is kept.", "Home"),
    Key(
        "submit",
        "ctrl+s,f5",
        "submit",
        "submit",
        "Hand in the answer (Enter is a new line).",
        "Answer",
        display="^S",
    ),
    Key("simulate", "f2", "simulate", "simulate", "Check the numbers in the simulator.", "Answer"),
    Key("hint", "f3", "hint", "hint", "Show the next hint; hints are counted.", "Answer"),
    Key("reference", "f4", "reference", "reference", "Show the model answer, after the grade.", "After the grade"),
    Key("contest", "f6", "contest", "contest", "Say in one line why a verdict is wrong.", "After the grade"),
    Key("self-mark", "f7", "self_mark", "mark", "Mark a criterion yourself against the rubric.", "After the grade"),
    Key("skip", "f8", "skip", "skip", "Leave this question, or this follow-up, unanswered.", "Answer"),
    Key("ask-tutor", "ctrl+t", "ask_tutor", "ask", "Ask the tutor instead of answering; before the answer it hints.",
        "Answer", display="^T"),
    Key("beside", "f9", "beside", "history", "Show or change what stands beside: history, reference, lesson.",
        "Answer"),
    Key("undo", "u", "undo", "undo", "Take back your own verdict on the chosen criterion.", "After the grade"),
    Key("next", "n", "next", "next", "Go on to the next question.", "After the grade"),
    Key("confidence-1", "1", "confidence(1)", "not yet", "You would rather not be asked this today.", "Confidence",
        show=False),
    Key("confidence-2", "2", "confidence(2)", "getting there", "You know the parts; the whole may have gaps.",
        "Confidence", show=False),
    Key("confidence-3", "3", "confidence(3)", "confident", "You would bet on this answer.", "Confidence",
        show=False),
    Key("save-report", "s", "save_report", "save report", "Save a report of this interview as HTML, to read or print.",
        "After the end"),
    Key("mark-met", "m", "mark('met')", "met", "The answer earns this criterion.", "Marking"),
    Key("mark-not-met", "x", "mark('not_met')", "not met", "The answer does not earn this criterion.", "Marking"),
    # In drills letters a to h choose options, so other actions have letters beyond them.
    Key("in-full", "i", "in_full", "in full", "Answer this one in full, graded by all four criteria.", "Drill"),
    Key("drill-skip", "f8", "skip", "skip", "Leave this item out of this sitting; nothing is recorded.", "Drill"),
    Key("bury", "t", "bury", "tomorrow", "Bury this item: it is not asked before tomorrow.", "Drill"),
    Key("suspend", "x", "suspend", "suspend", "Do not ask this item any more, until you resume it.", "Drill"),
    Key("note", "o", "note", "note", "Write a note of your own on this item.", "Drill"),
    Key("way-in", "w", "way_in", "way in", "Another way into an item that keeps being forgotten.", "Drill"),
    Key("drill-lesson", "f9", "lesson_page", "lesson", "Put the item's lesson beside it, or close it.", "Drill"),
    Key("kinds", "k", "kinds", "kinds", "Ask only checkpoints, recalls, numbers or predictions, or all.", "Drill"),
    Key("drill-undo", "u", "undo", "undo", "Take back the last answer, mark, note, burying or suspension.", "Drill"),
    Key("go-on", "n", "next", "next", "Go on to the next item.", "Drill"),
    Key("recall-1", "1", "mark_recall(1)", "missed", "You missed it: it comes again today.", "Recall", show=False),
    Key("recall-2", "2", "mark_recall(2)", "partly", "You had a part of it.", "Recall", show=False),
    Key("recall-3", "3", "mark_recall(3)", "well", "You had it.", "Recall", show=False),
    Key("recall-4", "4", "mark_recall(4)", "easily", "You had it at once, and all of it.", "Recall", show=False),
    Key("next-page", "right,n", "page(1)", "next", "Turn to the next page.", "Progress", display="→"),
    Key("previous-page", "left,b", "page(-1)", "previous", "Turn to the page before.", "Progress", display="←"),
    Key("interview-day", "i", "interview_day", "interview day", "Say for which day the readiness is asked.",
        "Progress"),
    Key("keep-day", "k", "keep_day", "keep day", "Put that day into the plan: all comes back before it.", "Progress"),
    Key("progress-save", "s", "save_page", "save page", "Save all pages as one HTML page, to read or print.",
        "Progress"),
    Key("fetch", "g", "fetch", "get", "Fetch the model for the built-in server.", "Model"),
    Key("look-again", "r", "look_again", "look again", "Look for model servers again.", "Model"),
    Key("row-up", "up", "move(-1)", "up", "Highlight the item above.", "Find", display="↑"),
    Key("row-down", "down", "move(1)", "down", "Highlight the item below.", "Find", display="↓"),
    Key("start-plan", "ctrl+s,f5", "start", "start", "Begin the chosen plan (Enter does too).", "Plans", display="^S"),
    Key("plan-mode", "m", "change_mode", "mode", "Be coached after each answer, or see nothing before the end.",
        "Plans"),
    Key("quiz", "k", "quiz", "quiz me", "Quiz me on this: two or three questions on this section.", "Lesson"),
    Key("exercise", "e", "exercise", "exercise", "Do an exercise on this section.", "Lesson"),
    Key("interview-lesson", "i", "start_interview", "interview", "Choose an interview, on this lesson or more.",
        "Lesson"),
    Key("next-section", "right,n", "section(1)", "next", "Read the next section.", "Lesson", display="→"),
    Key("previous-section", "left,p", "section(-1)", "previous", "Read the section before.", "Lesson", display="←"),
    Key("lab-new", "n", "new_scenario", "new", "Begin a scenario of your own from a small one that runs.", "Lab"),
    Key("lab-file", "o", "open_file", "open file", "Open a scenario file of your own.", "Lab"),
    Key("lab-past", "p", "past", "predictions", "See what you predicted, what came out, and which topics surprise you.",
        "Lab"),
    Key("lab-run", "f2,f5,ctrl+s", "run_scenario", "run", "Run the scenario, and the baseline where you changed it.",
        "Lab"),
    Key("lab-view", "f3", "change_view", "form/YAML", "Go from the form to the text or back.", "Lab"),
    Key("lab-predict", "f4", "predict", "predict", "Say what your change does, lock it, then run.", "Lab"),
    Key("lock", "ctrl+s,f5", "lock", "lock and run", "Store the prediction for good, then run both sides.", "Lab",
        display="^S"),
    Key("lab-run-again", "f2", "run_again", "run", "Run what is locked.", "Lab"),
    Key("lab-claim", "f6", "claim", "claim", "Put a claim about this scenario to the test.", "Lab"),
    Key("lab-plots", "f7", "show_plots", "plots", "See the last run as plots and tables.", "Lab"),
    Key("lab-restore", "f8", "restore", "as it came", "Put the scenario back as it came; Ctrl+Z takes that back.",
        "Lab"),
    Key("lab-add", "f9", "add_field", "add field", "Set a field that does not stand in the text.", "Lab"),
    Key("lab-from-item", "b", "open_lab_here", "lab", "Open this question's scenario in the lab, to change it further.",
        "Lab"),
    Key("claim-run", "ctrl+s,f5", "put_to_test", "put to the test", "Run both sides until the intervals decide.", "Lab",
        display="^S"),
    Key("claim-overturn", "o", "overturn", "overturn", "Try the claim under bursts, faults, other lengths and seeds.",
        "Lab"),
    Key("claim-add", "f9", "add_statement", "and", "Take this statement in and begin another; all must hold.", "Lab"),
    Key("claim-drop", "f8", "drop_statement", "leave out", "Leave the last statement out again.", "Lab"),
    Key("lab-see", "p", "see_plots", "plots", "Run both sides once more and see them as plots and tables.", "Lab"),
    Key("plot-table", "t", "toggle_table", "table", "Show the numbers as tables instead of plots, or back.", "Plots"),
    Key("plot-save", "s", "save_report", "save", "Save a report as HTML, SVG or PNG, and how to run it again.",
        "Plots"),
    Key("plot-next", "right,n", "page(1)", "next", "Turn to the next page.", "Plots", display="→"),
    Key("plot-previous", "left,b", "page(-1)", "previous", "Turn to the page before.", "Plots", display="←"),
)  # fmt: skip
BY_ID: Final = {key.id: key for key in KEYS}


def bindings(*ids: str, hidden: frozenset[str] = frozenset()) -> list[BindingType]:
    """The bindings with these ids, in this order; those in `hidden` are kept out of the footer."""
    made: list[BindingType] = []
    for key_id in ids:
        key = BY_ID[key_id]
        for number, one in enumerate(key.keys.split(",")):
            made.append(
                Binding(
                    one,
                    key.action,
                    key.label,
                    show=key.show and number == 0 and key_id not in hidden,
                    key_display=key.shown if number == 0 else None,
                    tooltip=key.tooltip,
                    id=key.id if number == 0 else f"{key.id}-{number}",
                )
            )
    return made


def key_for(binding: Binding) -> Key | None:
    """The entry of the list that a live binding came from."""
    if binding.id is None:
        return None
    return BY_ID.get(binding.id) or BY_ID.get(binding.id.rpartition("-")[0])
