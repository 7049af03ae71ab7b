//! Invariants for untrusted input. The fuzz targets (`xtask/fuzz`) check them on generated inputs, the tests on the
//! files of this repository and on every input that once broke one.

pub mod checks;
