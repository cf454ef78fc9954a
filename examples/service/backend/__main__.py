"""The command line: check, mask, export, consume, inbox."""

import argparse
import asyncio
import json
import logging
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from backend.consume import consume
from backend.inbox import Inbox
from backend.settings import KithSettings, SettingsError, feed_settings, inbox_file, kith_settings


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit code."""
    given = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        if given.command == "consume":
            asyncio.run(consume(feed_settings()))
            return 0
        if given.command == "inbox":
            unread, newest = Inbox(inbox_file()).summary(given.user)
            print(f"{unread} unread")
            for topic, about in newest:
                print(topic, about)
            return 0
        return asyncio.run(_call_kith(given, kith_settings()))
    except SettingsError as error:
        print(error, file=sys.stderr)
        return 2


async def _call_kith(given: argparse.Namespace, settings: KithSettings) -> int:
    # Imported here, because `consume` runs without the generated client.
    import httpx

    from backend.checks import relation_masks, relations
    from backend.export import ExportError, export_followers
    from backend.kith import error_text, open_client
    from kith_client import GraphQLClientError

    try:
        async with open_client(settings) as client:
            match given.command:
                case "check":
                    async for relation in relations(client, given.pairs):
                        print(json.dumps(asdict(relation), default=str))
                case "mask":
                    for user, bits in (
                        await relation_masks(client, given.user, given.others)
                    ).items():
                        print(user, *bits.names)
                case "export":
                    size = await export_followers(client, given.user, given.file)
                    print(f"{given.file}: {size} bytes")
    except ExportError as error:
        print(error, file=sys.stderr)
        return 1
    except (GraphQLClientError, httpx.TransportError) as error:
        print(error_text(error), file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="backend", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check", help="print how each pair of users is related")
    check.add_argument("pairs", nargs="+", type=_pair, metavar="FROM:TO")
    mask = commands.add_parser("mask", help="print the relations of one user to many, as flags")
    mask.add_argument("user", type=int)
    mask.add_argument("others", nargs="+", type=int)
    commands.add_parser("consume", help="apply the change feed to the inbox, until a signal")
    inbox = commands.add_parser("inbox", help="print a user's notifications")
    inbox.add_argument("user", type=int)
    export = commands.add_parser("export", help="write a user's followers to a file")
    export.add_argument("user", type=int)
    export.add_argument("file", type=Path, metavar="FILE.csv|FILE.ndjson")
    return parser


def _pair(text: str) -> tuple[int, int]:
    source, _, target = text.partition(":")
    return int(source), int(target)


if __name__ == "__main__":
    sys.exit(main())
