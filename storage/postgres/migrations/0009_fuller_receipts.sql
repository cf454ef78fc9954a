-- The result that a repeated batch of interactions gets, and the messages of removed requests.
ALTER TABLE receipt
    ADD COLUMN recorded integer, -- how many interactions were; NULL for all other receipts
    ADD COLUMN messages text[]; -- of the actor's request and of the other's; NULL: neither said anything

-- The few that say something: of whom it goes with their account, and since when it is of no use.
CREATE INDEX receipt_said_other ON receipt (other_id) WHERE messages IS NOT NULL;
CREATE INDEX receipt_said_at    ON receipt (made_at)  WHERE messages IS NOT NULL;
