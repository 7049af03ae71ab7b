//! Generates the list of rooms from this crate's dependencies, and rebuilds when a file of the suite changes.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

fn main() {
    for folder in ["features", "fixtures"] {
        println!("cargo::rerun-if-changed=../../{folder}");
    }
    println!("cargo::rerun-if-changed=Cargo.toml");
    let manifest: toml::Table = fs::read_to_string("Cargo.toml")
        .expect("a crate has a manifest")
        .parse()
        .expect("a manifest is TOML");
    let dependencies = manifest["dependencies"].as_table().expect("dependencies are a table");
    let mut list = String::from("&[\n");
    for name in dependencies.keys().filter(|name| name.starts_with("room-")) {
        writeln!(list, "    &{}::ROOM,", name.replace('-', "_"))
            .expect("a string takes every text");
    }
    list.push_str("]\n");
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo names a folder"));
    fs::write(folder.join("rooms.rs"), list).expect("cargo's folder can be written");
}
