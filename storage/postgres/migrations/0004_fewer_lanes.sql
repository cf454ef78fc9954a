-- There were 64 lanes: what waits goes on in one of 16, where later changes of its pair will come.
UPDATE outbox SET lane = lane % 16;
