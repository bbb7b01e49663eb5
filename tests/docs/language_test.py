#!/usr/bin/env python3
"""What tests/docs/language.py, a part of `./dev lint`, finds in comments and in commit messages."""

import unittest

from language import comment_problems, message_problems


def lines(text):
    return [line for line, _ in comment_problems(text)]


class Comments(unittest.TestCase):
    def test_a_word_that_hides_what_is_meant_is_found_with_the_first_line_of_its_comment(self):
        self.assertEqual(lines("int a;\n// Calls it\n// for whoever waits.\nint b;  // nobody's\n"), [2, 4])

    def test_a_comment_that_opens_without_a_subject_is_found(self):
        self.assertEqual(lines("// Of the device.\n\n// Which device it is.\n\n// Returns the devices of a card.\n"), [1, 3])

    def test_a_question_is_found(self):
        self.assertEqual(lines("bool open();  // Has it been opened?\n"), [1])

    def test_quoted_words_and_code_are_not_read(self):
        self.assertEqual(lines('auto a = "// whoever?";  // the user `nobody`, or "nobody"\nauto b = R"(// anew?)";\n'), [])

    def test_a_second_line_that_opens_with_such_a_word_is_no_opening(self):
        self.assertEqual(lines("// Returns the names\n// Of the devices.\n"), [])


class Messages(unittest.TestCase):
    def test_an_area_an_imperative_and_a_body_pass(self):
        self.assertEqual(list(message_problems("pods, base: bound the memory of lists\n\nWhy.\n")), [])

    def test_each_rule_that_is_broken_is_named(self):
        for message, problem in (
            ("pods: " + "x" * 67 + "\n\nWhy.\n", "the subject has 73 characters; 72 fit"),
            ("Shorter\n\nWhy.\n", "the subject is 'area: imperative …', without a full stop"),
            ("pods: bound it.\n\nWhy.\n", "the subject is 'area: imperative …', without a full stop"),
            ("pods: bound it\n", "a body says why"),
        ):
            with self.subTest(message):
                self.assertEqual(list(message_problems(message)), [problem])


if __name__ == "__main__":
    unittest.main()
