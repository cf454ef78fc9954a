-- Links a change to the trace of its request.

-- The request's `traceparent`, if it was sampled. The span of the drain is linked to it.
ALTER TABLE outbox ADD COLUMN trace text CHECK (length(trace) <= 55);
