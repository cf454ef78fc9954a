-- What a repeated batch of interactions is told again, and what the requests said that a change took.
ALTER TABLE receipt
    ADD COLUMN recorded integer, -- how many interactions were; NULL for all other receipts
    ADD COLUMN messages text[]; -- of the actor's request and of the other's; NULL: neither said anything
