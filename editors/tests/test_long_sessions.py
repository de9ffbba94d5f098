"""What a server keeps of what was typed."""

import pathlib

CLASS = '''

class Sampler{n}:
    def __init__(self, key):
        self.key = key

    def both(self, shape):
        return jax.random.normal(self.key, shape), jax.random.normal(self.key, shape)
'''


def resident(process) -> float:
    """MiB of the server."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS:"))


async def test_memory_does_not_grow_with_edits(vscode):
    session = vscode
    text = "import jax\n" + "".join(CLASS.format(n=n) for n in range(60))
    (session.folder / "samplers.py").write_text(text)
    await session.start()
    session.open("samplers.py")
    uri = session.uri("samplers.py")
    sizes = []
    for _ in range(40):
        end = len(session.texts["samplers.py"])
        session.replace("samplers.py", end, end, "# more\n")
        assert len(await session.ask(uri)) == 60
        sizes.append(resident(session.client._server))
    # Buffers grow at first; what is kept of every edit would go on growing.
    assert sizes[-1] - sizes[9] < 8, [round(it) for it in sizes]
