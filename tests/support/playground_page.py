"""Use the playground in a browser: open it, choose an example and a viewer, read the response.

`python -m tests.support.playground_page URL IMAGE` takes the picture in the documentation.
"""

import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.support.chromium import Page, browser_page

RUN = ".graphiql-execute-button"
NEW_TAB = ".graphiql-tab-add"
EDITOR = ".graphiql-query-editor textarea, .graphiql-query-editor .native-edit-context"
TABS = "document.querySelectorAll('.graphiql-tab button.graphiql-tab-button')"
EXAMPLES = "Array.from(document.querySelectorAll('.example'))"
VIEWER = ".viewer-input"
OPTIONS = "Array.from(document.querySelectorAll('[role=option]'))"
CHOICE = f"document.querySelector('{RUN}[aria-haspopup=menu]')"
PRESSED = "new PointerEvent('pointerdown', {bubbles: true, button: 0})"
MENU = "Array.from(document.querySelectorAll('[role=menuitem]'))"
# Monaco shows a line's spaces as no-break spaces.
ANSWER = "(document.querySelector('.result-window')?.innerText ?? '').replaceAll('\\u00a0', ' ')"
WIDTH, HEIGHT = 1280, 800


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

    def examples(self) -> list[str]:
        """The titles in the list of examples."""
        titles = self.page.evaluate(f"{EXAMPLES}.map(row => row.children[0].innerText)")
        return [str(title) for title in titles]

    def choose(self, title: str) -> None:
        """Open an example of the list."""
        number = self.examples().index(title)
        self.page.evaluate(f"{EXAMPLES}[{number}].click()")

    def write(self, query: str) -> None:
        """Write one operation with a name into a new tab."""
        self.page.click(NEW_TAB)
        self.page.wait_for(f"!!document.querySelector('{EDITOR}')")
        self.page.evaluate(f"document.querySelector('{EDITOR}').focus()")
        self.page.type(query)
        name = query.split()[1]
        self.page.wait_for(f"{TABS}[{TABS}.length - 1].innerText === '{name}' && !{CHOICE}")

    def ask_as(self, text: str) -> None:
        """Choose the first viewer that `text` finds, by the keyboard alone."""
        self.page.evaluate(f"document.querySelector('{VIEWER}').focus()")
        self.page.evaluate(f"document.querySelector('{VIEWER}').select()")
        self.page.type(text)
        wanted = json.dumps(text.lower())
        self.page.wait_for(f"{OPTIONS}[0]?.innerText.toLowerCase().includes({wanted})")
        self.page.wait_for(f"{OPTIONS}[0].hasAttribute('data-focus')")
        self.page.press("Enter")
        self.page.wait_for(f"{OPTIONS}.length === 0")

    def viewer(self) -> str:
        """The value of the viewer switcher."""
        return str(self.page.evaluate(f"document.querySelector('{VIEWER}').value"))

    def answer(self, part: str = '"data"') -> str:
        """The visible text of the response, as soon as it contains `part`."""
        return str(self.page.wait_for(f"{ANSWER}.includes({json.dumps(part)}) && {ANSWER}"))

    def run(self, operation: str | None = None) -> str:
        """Run the open tab, or one `operation` of several. Returns the text of the response."""
        self.start(operation)
        return self.answer()

    def start(self, operation: str | None = None) -> None:
        """The same as `run`, without waiting for a response."""
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
        page.show_as(WIDTH, HEIGHT)
        playground = PlaygroundPage(page)
        playground.open(url)
        playground.answer()
        playground.choose("Mask")
        playground.answer("relationMask")
        page.screenshot(image)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
