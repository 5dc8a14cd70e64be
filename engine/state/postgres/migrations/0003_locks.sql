-- +goose Up
-- When a lock that is kept in this table ends; null where it is kept elsewhere, by a Lease.
alter table partitions add column lock_ends timestamptz;
