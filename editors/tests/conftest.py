"""A server for every test, in each of three editors; at the end it must agree with the command line and end well."""

import asyncio
import pathlib
import sys

import pytest
import pytest_asyncio
from pytest_lsp import ClientServerConfig

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import oracle
import sample
from session import Session, make_client

PROFILES = ("vscode", "neovim", "emacs")


@pytest.fixture
def folder(tmp_path) -> pathlib.Path:
    """The project, in a folder whose name has to be escaped in addresses."""
    return sample.write(tmp_path / "näme with space")


@pytest_asyncio.fixture(params=PROFILES)
async def session(request, folder):
    """A session that a test starts."""
    async for it in sessions(folder, request.param):
        yield it


@pytest_asyncio.fixture
async def vscode(folder):
    """A session in one editor, for what does not depend on editors."""
    async for it in sessions(folder, "vscode"):
        yield it


async def sessions(folder, profile):
    config = ClientServerConfig(server_command=[oracle.KEYLINT, "server"], client_factory=make_client)
    client = await config.start()
    session = Session(client, folder, profile)
    yield session
    if client.capabilities is not None:
        await session.compare()
        await asyncio.wait_for(client.shutdown_session(), 10)
        assert client._server.returncode == 0
    await client.stop()
