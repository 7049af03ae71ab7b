"""What JSON may hold, and what Python's own reader and writer would make of it."""

from __future__ import annotations

import math
import unittest
from typing import Any

from proofmark.errors import ProtocolError
from proofmark.wire import MAX_LINE, decode, encode


class Decoding(unittest.TestCase):
    def refused(self, line: bytes) -> None:
        with self.assertRaises(ProtocolError) as caught:
            decode(line)
        self.assertEqual(caught.exception.code, -32700)

    def test_minus_zero_keeps_its_sign(self) -> None:
        for text in (b"-0", b"-0.0", b"-0e5"):
            self.assertEqual(math.copysign(1, decode(text)), -1, text)

    def test_integers_keep_all_digits(self) -> None:
        self.assertEqual(decode(b"12345678901234567890123"), 12345678901234567890123)

    def test_numbers_beyond_a_double_are_refused(self) -> None:
        for line in (b"1e400", b"-1e400", b"1" + b"0" * 309, b"9" * 10_000):
            self.refused(line)

    def test_the_largest_double_is_read_in_all_its_digits(self) -> None:
        digits = b"%d" % int(1.7976931348623157e308)
        self.assertEqual(float(decode(digits)), 1.7976931348623157e308)

    def test_pythons_json_extensions_are_refused(self) -> None:
        for line in (b"NaN", b"[Infinity]", b"-Infinity", b"{'a':1}", b"\xef\xbb\xbf1", b'"\xff"', b'"\x01"', b""):
            self.refused(line)

    def test_lone_surrogates_are_kept(self) -> None:
        self.assertEqual(decode(b'"\\ud800"'), "\ud800")

    def test_pairs_of_surrogates_are_one_character(self) -> None:
        self.assertEqual(decode(b'"\\ud83d\\ude00"'), "\U0001f600")

    def test_hostile_nesting_is_refused(self) -> None:
        self.refused(b"[" * 1_000_000)

    def test_the_last_of_two_equal_keys_counts(self) -> None:
        self.assertEqual(decode(b'{"a":1,"a":2}'), {"a": 2})


class Encoding(unittest.TestCase):
    def refused(self, value: Any) -> None:
        with self.assertRaises(ProtocolError) as caught:
            encode(value)
        self.assertEqual(caught.exception.code, -32000)

    def test_a_message_is_one_line_whatever_it_holds(self) -> None:
        text = "a\n\r\u2028\u2029\u0085\0\x7f\U0001f600"
        line = encode(text)
        self.assertEqual(line.count(b"\n"), 1)
        self.assertEqual(decode(line[:-1]), text)

    def test_numbers_come_back_as_they_were(self) -> None:
        for number in (0.1, 5e-324, 1.7976931348623157e308, 1e21, 2**53 + 1, -(2**64), 1e-7):
            self.assertEqual(decode(encode(number)[:-1]), number)
        self.assertEqual(math.copysign(1, decode(encode(-0.0)[:-1])), -1)

    def test_tuples_are_lists(self) -> None:
        self.assertEqual(encode((1, (2,))), b"[1,[2]]\n")

    def test_values_that_the_wire_cannot_carry_are_refused(self) -> None:
        circle: list[Any] = []
        circle.append(circle)
        for value in (math.nan, math.inf, "\ud800", {"\udfff": 1}, b"bytes", {1: 2}, {None: 1}, {1}, circle, 10**400):
            with self.subTest(kind=type(value)):
                self.refused(value)

    def test_nesting_has_the_limit_of_the_protocol(self) -> None:
        def nested(depth: int) -> list[Any]:
            value: list[Any] = []
            for _ in range(depth - 1):
                value = [value]
            return value

        self.assertEqual(len(encode(nested(100))), 201)
        self.refused(nested(101))
        self.refused(nested(100_000))

    def test_a_line_has_the_limit_of_the_protocol(self) -> None:
        self.assertEqual(len(encode("x" * (MAX_LINE - 3))), MAX_LINE)
        self.refused("x" * (MAX_LINE - 2))


if __name__ == "__main__":
    unittest.main()
