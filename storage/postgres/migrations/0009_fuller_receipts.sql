-- The result of a batch of interactions, and the messages of requests that a change has ended.
ALTER TABLE receipt
    ADD COLUMN recorded integer, -- number of recorded interactions; NULL for all other receipts
    ADD COLUMN messages text[]; -- of the actor's request and of the other user's; NULL: neither had one

-- The few receipts with messages: messages are deleted with an account, and when an undo is no longer
-- possible.
CREATE INDEX receipt_said_other ON receipt (other_id) WHERE messages IS NOT NULL;
CREATE INDEX receipt_said_at    ON receipt (made_at)  WHERE messages IS NOT NULL;
