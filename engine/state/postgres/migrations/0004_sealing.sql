-- +goose Up
-- The key that an installation seals with now. A key is named by its id, which says
-- nothing of it.
create table sealing_keys (
    installation text        primary key,
    key_id       text        not null,
    recorded_at  timestamptz not null default now()
);
