-- +goose Up
create table plans (
    plan_id          uuid primary key,
    partition_id     uuid        not null references partitions (id),
    generation       bigint      not null,
    head_uid         text        not null,
    head_generation  bigint      not null,
    source_kind      text        not null,
    source_ref       text        not null,
    revision         text        not null,
    artifact_digest  text        not null,
    inputs_digest    text        not null,
    policy_digest    text        not null,
    base_serial      bigint      not null,
    changeset_digest text        not null,
    plan_hash        text        not null,
    body             bytea,
    plan_text        text        not null,
    summary          jsonb       not null,
    created_by       text        not null,
    status           text        not null,
    reason           text        not null,
    epoch            bigint      not null default 0,
    created_at       timestamptz not null default now(),
    updated_at       timestamptz not null default now(),
    unique (partition_id, generation)
);

-- Exactly one current plan per partition; history is what was superseded.
create unique index plans_current on plans (partition_id) where status <> 'Superseded';
