-- Private notes of users about others. They are not columns of `following`: hardly any edge has one,
-- a note needs no edge, and no list, cache or event contains it.
CREATE TABLE private_note (
    author_id bigint NOT NULL CHECK (author_id > 0),
    other_id  bigint NOT NULL CHECK (other_id > 0 AND other_id <> author_id),
    note      text   NOT NULL CHECK (length(note) BETWEEN 1 AND 200),
    PRIMARY KEY (author_id, other_id)
);

-- For the erasure of a deleted user. The author is in it so that PostgreSQL, if it prefers this index
-- for reading notes, reads no notes of other authors.
CREATE INDEX private_note_other ON private_note (other_id, author_id);
