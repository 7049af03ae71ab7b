//! What must hold of whatever a stranger wrote. The fuzz targets (`xtask/fuzz`) try it on invented inputs, the tests on
//! those of this repository and on every input that was found to break it.

pub mod checks;
