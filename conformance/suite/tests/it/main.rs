//! Tests of the crate's public interface: loading, matching, selection and outcomes. One program, so that it is
//! linked once.

mod common;
mod feature_forms;
mod folders;
mod load_feature;
mod load_fixture;
mod load_ledger;
mod lost_in_silence;
mod matcher;
mod matcher_laws;
mod schemas;
mod select;
mod settled;
mod streams;
mod verdict;
