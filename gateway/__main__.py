"""The command `kith`, also as `python -m gateway`: see `gateway.commands.cli`."""

import gc
import signal


def main(name: str = "kith") -> None:
    """Run the command line. Ctrl-C during its import ends the process without a traceback."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # `collect_after_imports` enables it again. Collections took a fifth of the time of the imports.
    gc.disable()
    from gateway.commands.cli import app

    signal.signal(signal.SIGINT, signal.default_int_handler)
    app(prog_name=name)


if __name__ == "__main__":
    main("python -m gateway")
