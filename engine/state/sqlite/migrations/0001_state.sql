create table partitions (
    id                text    not null primary key,
    installation      text    not null,
    namespace         text    not null,
    name              text    not null,
    epoch_minted      integer not null default 0,
    epoch             integer not null default 0,
    holder            text    not null default '',
    lease_uid         text    not null default '',
    lease_transitions integer not null default 0,
    lock_ends         integer,
    serial            integer not null default 0,
    created_at        text    not null,
    deleted_at        text,
    check (epoch <= epoch_minted)
);

create table nodes (
    partition_id          text    not null references partitions (id),
    id                    text    not null,
    type                  text    not null,
    kind                  text    not null,
    provider              text    not null,
    provider_version      text    not null,
    input_hash            text    not null,
    outputs               text    not null,
    properties            text    not null,
    dependencies          text    not null,
    depends_on            text    not null,
    prevent_destroy       integer not null,
    create_before_destroy integer not null,
    status                text    not null,
    secret_digests        text    not null,
    ref_digests           text    not null,
    refreshed_outputs     text    not null,
    row_uid               text    not null,
    attempt               text    not null,
    updated_at            text    not null,
    epoch                 integer not null,
    primary key (partition_id, id)
);

create table pending_destroys (
    partition_id text not null references partitions (id),
    node_id      text not null,
    row          text not null,
    mode         text not null,
    primary key (partition_id, node_id)
);

create table outputs (
    partition_id text    not null references partitions (id),
    key          text    not null,
    value        text    not null,
    sensitive    integer not null,
    source_nodes text    not null,
    primary key (partition_id, key)
);
