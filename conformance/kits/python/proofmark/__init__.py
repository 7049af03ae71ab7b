"""Proofmark's adapter kit for Python: an adapter is one function per operation; the kit handles the wire.

Vendor this folder beside your adapter. It needs Python 3.11 and nothing else.
"""

from .adapter import Adapter, Handler, OpenHandler, Result
from .collaborators import Graph, LlmProvider, ProviderStream, ScriptedTool, SecretProvider
from .errors import (
    ContractError,
    FakeError,
    ProtocolError,
    TapeEmptyError,
    UnknownHandleError,
)
from .session import Clock, Fake, Random, Session
from .wire import protect_stdout

__all__ = [
    "Adapter",
    "Clock",
    "ContractError",
    "Fake",
    "FakeError",
    "Graph",
    "Handler",
    "LlmProvider",
    "OpenHandler",
    "ProtocolError",
    "ProviderStream",
    "Random",
    "Result",
    "ScriptedTool",
    "SecretProvider",
    "Session",
    "TapeEmptyError",
    "UnknownHandleError",
    "protect_stdout",
]
