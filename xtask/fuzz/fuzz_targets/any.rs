#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| xtask::checks::check_chosen(bytes));
