"""Private notes of users about others."""

NOTE_CHARS_MAX = 200
