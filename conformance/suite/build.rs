//! The suite's files are inside the program: it is built anew when one is added, changed or dropped.

fn main() {
    for folder in ["features", "fixtures"] {
        println!("cargo::rerun-if-changed=../../{folder}");
    }
}
