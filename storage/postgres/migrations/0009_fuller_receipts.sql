-- What a repeated batch of interactions is told again.
ALTER TABLE receipt
    ADD COLUMN recorded integer; -- how many were; NULL for all other receipts
