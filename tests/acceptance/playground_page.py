"""The playground as a person uses it: open it, choose a tab, run it, read the answer.

`python -m tests.acceptance.playground_page URL IMAGE` takes the picture in the documentation.
"""

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.acceptance.chromium import Page, browser_page

RUN = ".graphiql-execute-button"
TABS = "document.querySelectorAll('.graphiql-tab button.graphiql-tab-button')"
CHOICE = f"document.querySelector('{RUN}[aria-haspopup=menu]')"
PRESSED = "new PointerEvent('pointerdown', {bubbles: true, button: 0})"
MENU = "Array.from(document.querySelectorAll('[role=menuitem]'))"
# Monaco shows a line's spaces as no-break spaces.
ANSWER = "(document.querySelector('.result-window')?.innerText ?? '').replaceAll('\\u00a0', ' ')"


@dataclass(frozen=True, slots=True)
class PlaygroundPage:
    """GraphiQL in a browser's page."""

    page: Page

    def open(self, url: str) -> None:
        self.page.open(url)
        self.page.wait_for(f"{TABS}.length > 0")
        self.page.wait_for("document.querySelectorAll('.graphiql-editor .view-line').length > 0")

    def tabs(self) -> list[str]:
        """The titles of the tabs."""
        titles = self.page.evaluate(f"Array.from({TABS}, tab => tab.innerText)")
        return [str(title) for title in titles]

    def choose(self, title: str) -> None:
        number = self.tabs().index(title)
        self.page.evaluate(f"{TABS}[{number}].click()")

    def run(self, operation: str | None = None) -> str:
        """Run the chosen tab, or one `operation` of several; the answer's visible text."""
        self.start(operation)
        return str(self.page.wait_for(f"{ANSWER}.includes('\"data\"') && {ANSWER}"))

    def start(self, operation: str | None = None) -> None:
        """The same, without waiting for an answer."""
        if operation is None:
            self.page.click(RUN)
        else:
            self.page.wait_for(f"!!{CHOICE}")
            self.page.evaluate(f"{CHOICE}.dispatchEvent({PRESSED})")
            named = f"{MENU}.find(item => item.innerText === '{operation}')"
            self.page.wait_for(f"!!{named}")
            self.page.evaluate(f"{named}.click()")


def main(url: str, image: Path) -> None:
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
        browser_page(Path(profile)) as page,
    ):
        playground = PlaygroundPage(page)
        playground.open(url)
        playground.run()
        page.screenshot(image)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
