"""Replies as models write them, and what a person would take from each; None where a person would take nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unwritten.readers.mllm.parsing import parse, without_thinking

ABOVE = [  # of five letters: all say above
    "above",
    "Above",
    "ABOVE",
    "above.",
    " above \n",
    '"above"',
    "'above'",
    "\u201cabove\u201d",
    "\u00ababove\u00bb",
    "**above**",
    "*above*",
    "__above__",
    "`above`",
    "```\nabove\n```",
    "```text\nabove\n```",
    "above!",
    "above?",
    "(above)",
    "[above]",
    "<above>",
    "- above",
    "1. above",
    "> above",
    "# above",
    "above \u2705",
    "\u200babove\ufeff",
    "<b>above</b>",
    "$\\text{above}$",
    "above (5 letters)",
    "Above (5-letters).",
    "A B O V E",
    "a b o v e",
    "A-B-O-V-E",
    "A, B, O, V, E",
    "a.b.o.v.e.",
    "A\u00b7B\u00b7O\u00b7V\u00b7E",
    "\uff41\uff42\uff4f\uff56\uff45",
    "\uff21\uff22\uff2f\uff36\uff25",
    "\uff21 \uff22 \uff2f \uff36 \uff25",
    "\U0001d41a\U0001d41b\U0001d428\U0001d42f\U0001d41e",
    "above above",
    "A\nB\nO\nV\nE",
    "**a** **b** **o** **v** **e**",
    "I think the word might be 'above', but 'about' is possible too.",
    "It's hard to tell, but I'd go with above",
    "Answer: above",
    "answer: above.",
    "Answer:above",
    "ANSWER = above",
    "Answer: [above]",
    "Answer: <above>",
    "Answer: **above**",
    "**Answer:** above",
    "**Answer: above**",
    "Answer: A B O V E",
    "Answer: A-B-O-V-E",
    "Answer: above (5 letters)",
    "Answer:\n\nabove",
    "Final answer: above",
    "**Final Answer**: `above`",
    "The final answer is: above",
    "Answer -> above",
    "Word: above",
    "Guess: above",
    "My best guess: above",
    "Letters: A B O V E",
    "It moves down, then up.\nAnswer: about\nNo, the third is an o.\nAnswer: above",
    "<answer>above</answer>",
    "<answer>\n  Above.\n</answer>",
    "<answer>The word is above.</answer>",
    "<final_answer>above</final_answer>",
    "The hand draws a loop.\n<answer>above",
    '{"answer": "above"}',
    '{"word": "ABOVE"}',
    '{"answer": "above", "confidence": 0.4, "alternatives": ["about"]}',
    '```json\n{"answer": "above"}\n```',
    'Here it is:\n```json\n{"final_answer": "above"}\n```',
    '{"letters": ["a", "b", "o", "v", "e"]}',
    '"above"\n',
    '["above"]',
    "\\boxed{above}",
    "$\\boxed{above}$",
    "\\boxed{\\text{above}}",
    "The word is \\boxed{above}.",
    "The word is above.",
    "The word is above",
    "The word is **above**.",
    'The word is "above".',
    "The word is 'above', not 'about'.",
    "The word is probably above.",
    "The written word appears to be above.",
    "The word is A-B-O-V-E.",
    "The word is above. The last letter has a loop.",
    "it appears to be above.",
    "It seems to be above.",
    "It looks like above.",
    'It looks like "above".',
    "It might be above.",
    "It's above.",
    "That's above!",
    "It says above.",
    "It spells A B O V E",
    "This reads above.",
    "I think it's above.",
    "I would guess above.",
    "I'd say above",
    "My guess is above.",
    "I can't hear anything, but my guess is above.",
    "Maybe above",
    "Probably above.",
    "Hmm, above",
    "Okay. above",
    "Sorry, above",
    "above - the first letter has a closed bowl and the last a loop",
    "above \u2014 because of the loop at the end",
    "above: five letters, the last one with a loop",
    "above. The pen goes down twice and makes a loop.",
    "above because the third letter is round",
    "above (based on the five touches of the pen)",
    "above\n\nThe strokes show an a, then a b.",
    "The pen makes a, then b, then o.\n\nabove",
    "Five touches, the third of them long.\nabove.",
    "Unable to read. above",
    "I cannot see the strokes well. Above.",
    "<think>It could be 'about' or \"abide\".</think>above",
    "<think>\n\n</think>\n\nabove",
    "<thinking>first an **about**</thinking>\nAnswer: above",
    '<think>a <think>"about"</think> again **about**</think> above',
    "The word is about, or so it seems.</think>above",
    "<THINK>about</THINK> <answer>above</answer>",
    "[THINK]about[/THINK]above",
    "\u25c1think\u25b7about\u25c1/think\u25b7above",
    "<reasoning>Answer: about</reasoning>above",
]
NOTHING = [  # a person takes no word of five letters from these
    ("above or about", "malformed"),
    ("above/about", "malformed"),
    ("above, about", "malformed"),
    ("above; about", "malformed"),
    ("above - about", "malformed"),
    ("above (or about)", "malformed"),
    ("above - or maybe about, it is hard to say", "malformed"),
    ("above\nabout", "malformed"),
    ("1. above\n2. about", "malformed"),
    ("either above or about", "malformed"),
    ("Answer: above or about", "malformed"),
    ("Answer: above, about", "malformed"),
    ("<answer>above or about</answer>", "malformed"),
    ('{"answer": ["above", "about"]}', "malformed"),
    ("**above** or **about**", "malformed"),
    ('"above" or "about"', "malformed"),
    ("The word is 'above' or 'about'.", "malformed"),
    ("The word appears to be 'above' (or 'about').", "malformed"),
    ("Round. Then a hook.", "malformed"),
    ("The word is above or about.", "malformed"),
    ("It could be above. It could also be about.", "malformed"),
    ("a", "malformed"),
    ("the", "malformed"),
    ("The.", "malformed"),
    ("Answer: the", "malformed"),
    ("abo", "malformed"),
    ("Answer: overabove", "malformed"),
    ("A B O V", "malformed"),
    ("two words", "malformed"),
    ("The hand writes five letters.", "malformed"),
    ("Several letters might fit: perhaps a c, perhaps an e, and then a t or an l.", "malformed"),
    ("The first letter looks like 'a' and the second like 'b'.", "malformed"),
    ("The word is short.", "malformed"),
    ("It is muted.", "malformed"),
    ("Watch: the pen moves in a small circle.", "malformed"),
    ("First, the pen moves down.", "malformed"),
    ("caf\u00e9s", "malformed"),
    ("12345x6", "malformed"),
    ("none", "refused"),
    ("Unknown.", "refused"),
    ("N/A", "refused"),
    ("unclear", "refused"),
    ("The word is unclear.", "refused"),
    ("Answer: unknown", "refused"),
    ("<answer>none</answer>", "refused"),
    ("I'm sorry, but I can't help with that.", "refused"),
    ("I cannot determine the word from this video.", "refused"),
    ("As an AI language model I cannot watch videos.", "refused"),
    ("It is not possible to tell which word was written.", "refused"),
    ("No audio was provided.", "refused"),
    ('{"answer": "I cannot tell"}', "refused"),
    ("", "empty"),
    ("...", "empty"),
    ("\n\n", "empty"),
    ('<think>It says "above", I believe', "empty"),
    ("<think>above</think>", "empty"),
    ("<think>a <think>b</think> above", "empty"),
    ("above</think>", "empty"),
    ("<answer></answer>", "empty"),
]
OTHERS = [  # (reply, letters told, word, state)
    ("Letter: A", 1, "a", "answered"),
    ("Letter: 'A'", 1, "a", "answered"),
    ("a", 1, "a", "answered"),
    ("The letter is A.", 1, "a", "answered"),
    ("**B**", 1, "b", "answered"),
    ("A or B", 1, "", "malformed"),
    ("the", 3, "the", "answered"),
    ("none", 4, "none", "answered"),  # nobody can tell whether it is the word
    ("Answer: none", 4, "none", "answered"),
    ("cats", 3, "cats", "malformed"),
    ("horse", None, "horse", "answered"),
    ("The word is horse.", None, "horse", "answered"),
    ("A B C", None, "abc", "answered"),
    ("a word", None, "", "malformed"),
    ("none", None, "", "refused"),
]


def test_there_are_replies_of_every_kind():
    assert len(ABOVE) + len(NOTHING) + len(OTHERS) >= 120
    assert len(set(ABOVE)) == len(ABOVE)


@pytest.mark.parametrize("reply", ABOVE)
def test_what_any_person_would_understand_is_understood(reply):
    assert (parse(reply, 5).word, parse(reply, 5).state) == ("above", "answered")


@pytest.mark.parametrize(("reply", "state"), NOTHING)
def test_where_a_person_would_take_no_word_none_is_taken(reply, state):
    assert parse(reply, 5).state == state


@pytest.mark.parametrize(("reply", "n", "word", "state"), OTHERS)
def test_letters_other_lengths_and_lengths_that_were_not_told(reply, n, word, state):
    assert (parse(reply, n).word, parse(reply, n).state) == (word, state)


@given(st.text(alphabet="abc \n\"'*.:<>/think", max_size=60), st.sampled_from(["think", "thinking", "reasoning"]))
def test_no_thinking_ever_answers(thought, tag):
    assert parse(f"<{tag}>{thought}", 3).state in ("empty", "malformed", "refused") or f"</{tag}>" in thought
    assert without_thinking(f"<{tag}>no<{tag}>{'x'}</{tag}></{tag}>dog") == "dog"


@given(st.text(max_size=200), st.one_of(st.none(), st.integers(1, 8)))
def test_an_answer_is_always_letters_of_the_told_length_that_stand_in_the_reply(reply, n):
    found = parse(reply, n)
    if found.state == "answered":
        assert found.word.isascii() and found.word.isalpha() and found.word == found.word.lower()
        assert n is None or len(found.word) == n
