-- Webhooks: endpoints of services, and what is delivered to them.

CREATE TABLE webhook_endpoint (
    name            text        PRIMARY KEY,
    url             text        NOT NULL,
    types           text[]      NOT NULL, -- graph.event.EventType
    changes         bigint      NOT NULL, -- the changes that may have these types: graph.webhook.change_mask
    state           smallint    NOT NULL DEFAULT 0, -- graph.webhook.EndpointState
    reason          text, -- why it is disabled
    secret          text        NOT NULL, -- encrypted: storage.webhook_secrets
    previous_secret text, -- also signs until previous_until
    previous_until  timestamptz,
    created_at      timestamptz NOT NULL DEFAULT now(),
    failing_since   timestamptz, -- the first failure after the last success
    last_error      text,
    holder          uuid, -- the process that delivers to it until held_until
    held_until      timestamptz
);

-- A change for an endpoint. The statement that deletes the change from the outbox inserts it.
CREATE TABLE webhook_delivery (
    endpoint    text        NOT NULL,
    change_id   bigint      NOT NULL, -- of the outbox: the order of the changes of one target
    target_id   bigint      NOT NULL,
    source_id   bigint      NOT NULL,
    since       bigint      NOT NULL,
    version     bigint      NOT NULL,
    kind        smallint    NOT NULL,
    flags       smallint    NOT NULL,
    former      smallint    NOT NULL,
    by_target   boolean     NOT NULL,
    state       smallint    NOT NULL DEFAULT 0, -- graph.webhook.DeliveryState
    attempts    integer     NOT NULL DEFAULT 0,
    queued_at   timestamptz NOT NULL DEFAULT now(),
    retry_at    timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz, -- when it was delivered or parked
    status      smallint, -- of the last response
    error       text, -- of the last attempt
    took_ms     integer,
    PRIMARY KEY (endpoint, change_id)
);

-- The deliveries of each target in order, and the targets that have some.
CREATE INDEX webhook_delivery_waiting ON webhook_delivery (endpoint, target_id, change_id)
    WHERE state = 0;

CREATE INDEX webhook_delivery_age ON webhook_delivery (endpoint, queued_at) WHERE state = 0;

CREATE INDEX webhook_delivery_finished ON webhook_delivery (endpoint, state, finished_at)
    WHERE state <> 0;
