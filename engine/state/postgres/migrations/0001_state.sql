-- +goose Up
create table partitions (
    id                uuid primary key,
    installation      text        not null,
    namespace         text        not null,
    name              text        not null,
    epoch_minted      bigint      not null default 0,
    epoch             bigint      not null default 0,
    holder            text        not null default '',
    lease_uid         text        not null default '',
    lease_transitions integer     not null default 0,
    serial            bigint      not null default 0,
    created_at        timestamptz not null default now(),
    deleted_at        timestamptz,
    check (epoch <= epoch_minted)
);

create table nodes (
    partition_id          uuid        not null references partitions (id),
    id                    text        not null,
    type                  text        not null,
    kind                  text        not null,
    provider              text        not null,
    provider_version      text        not null,
    input_hash            text        not null,
    outputs               jsonb       not null,
    properties            jsonb       not null,
    dependencies          jsonb       not null,
    depends_on            jsonb       not null,
    prevent_destroy       boolean     not null,
    create_before_destroy boolean     not null,
    status                text        not null,
    secret_digests        jsonb       not null,
    ref_digests           jsonb       not null,
    refreshed_outputs     jsonb       not null,
    row_uid               text        not null,
    attempt               text        not null,
    updated_at            timestamptz not null,
    epoch                 bigint      not null,
    primary key (partition_id, id)
);

create table pending_destroys (
    partition_id uuid  not null references partitions (id),
    node_id      text  not null,
    row          jsonb not null,
    mode         text  not null,
    primary key (partition_id, node_id)
);

create table outputs (
    partition_id uuid    not null references partitions (id),
    key          text    not null,
    value        jsonb   not null,
    sensitive    boolean not null,
    source_nodes text[]  not null,
    primary key (partition_id, key)
);

create table stack_names (
    installation text not null,
    namespace    text not null,
    stack_name   text not null,
    partition_id uuid not null references partitions (id),
    primary key (installation, namespace, stack_name)
);

create index stack_names_partition on stack_names (partition_id);
