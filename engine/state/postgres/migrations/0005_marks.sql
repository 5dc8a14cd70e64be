-- +goose Up
-- What was found out about all that a partition records, and the serial that this is about.
alter table partitions add column mark text not null default '', add column mark_serial bigint not null default 0;
