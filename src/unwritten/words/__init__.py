"""Word lists, stop words, frequencies."""

from unwritten.words.lists import WordList, WordListSettings, word_list

__all__ = ["WordList", "WordListSettings", "word_list"]
