"""Which exceptions are a contract's rejection, and which are the adapter's own trouble."""

from __future__ import annotations

import contextlib
import io
import unittest
from typing import Any

from proofmark import ContractError, FakeError
from proofmark.errors import contract_error, protocol_error


class Typed(Exception):
    """An implementation's own error, which knows nothing of the kit."""

    def __init__(self, code: Any, message: Any, **properties: Any) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.__dict__.update(properties)


class Rejections(unittest.TestCase):
    def test_a_contract_error_is_flat(self) -> None:
        error = ContractError("EIO", "disk full", name="IOError", properties={"operation": "write", "cause": None})
        self.assertEqual(
            contract_error(error),
            {"code": "EIO", "message": "disk full", "name": "IOError", "operation": "write", "cause": None},
        )

    def test_without_a_name_there_is_none(self) -> None:
        self.assertEqual(contract_error(ContractError("E", "m")), {"code": "E", "message": "m"})

    def test_a_collaborators_error_is_passed_on_as_it_came(self) -> None:
        flat = {"code": "EIO", "message": "m", "name": "N", "operation": "get"}
        self.assertEqual(contract_error(FakeError.from_json(flat)), flat)

    def test_properties_cannot_replace_what_an_error_is(self) -> None:
        error = ContractError("E", "m", properties={"code": "OTHER", "message": 5, "name": [], "more": 1})
        self.assertEqual(contract_error(error), {"code": "E", "message": "m", "more": 1})

    def test_a_contract_error_of_other_kinds_cannot_be_made(self) -> None:
        for code, message, name in ((5, "m", None), ("E", None, None), ("E", "m", 5)):
            with self.assertRaises(TypeError):
                ContractError(code, message, name=name)  # type: ignore[arg-type]

    def test_any_exception_with_a_code_and_a_message_counts(self) -> None:
        self.assertEqual(
            contract_error(Typed("EHALT", "stop", actual=1, _private=2)),
            {"code": "EHALT", "message": "stop", "name": "Typed", "actual": 1},
        )

    def test_a_code_or_a_message_of_another_kind_does_not(self) -> None:
        for error in (Typed(5, "m"), Typed("E", None), Typed(None, "m"), ValueError("EIO"), SystemExit("EIO")):
            self.assertIsNone(contract_error(error), repr(error))

    def test_a_systems_error_never_counts_by_itself(self) -> None:
        class Decorated(OSError):
            code = "EIO"
            message = "looks like a contract's"

        for error in (FileNotFoundError(2, "no such file"), Decorated(5, "input/output error")):
            self.assertIsNone(contract_error(error), repr(error))

    def test_a_systems_error_counts_where_the_author_says_so(self) -> None:
        def translate(error: BaseException) -> ContractError | None:
            if isinstance(error, OSError):
                return ContractError("EIO", str(error), properties={"operation": "read"})
            return None

        flat = contract_error(FileNotFoundError(2, "gone"), translate)
        assert flat is not None
        self.assertEqual((flat["code"], flat["operation"]), ("EIO", "read"))
        self.assertIsNone(contract_error(ValueError("other"), translate))


class Trouble(unittest.TestCase):
    def test_an_exception_that_cannot_be_printed_is_reported_all_the_same(self) -> None:
        class Unprintable(Exception):
            def __str__(self) -> str:
                raise RuntimeError

        with contextlib.redirect_stderr(io.StringIO()):
            error = protocol_error(Unprintable())
        self.assertEqual(error.code, -32000)
        self.assertIn("Unprintable", error.message)


if __name__ == "__main__":
    unittest.main()
