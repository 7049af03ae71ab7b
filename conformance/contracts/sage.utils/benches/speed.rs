//! Canonical JSON compared with `serde_json::to_vec` of the same value.

use std::hint::black_box;
use std::process::ExitCode;

use proofmark_room::bench::{event, ratio, tell, timed};

fn main() -> ExitCode {
    proofmark_room::bench::main(bench)
}

fn bench() -> Result<(), String> {
    let events: Vec<_> = (0..1000).map(event).collect();
    let rounds = 100;
    let (_, _, times) = ratio(
        11,
        || {
            timed(|| {
                let mut out = Vec::new();
                for value in (0..rounds).flat_map(|_| &events) {
                    out.clear();
                    sage_utils::write_canonical(black_box(value), &mut out);
                    black_box(&out);
                }
                Ok(())
            })
        },
        || {
            timed(|| {
                for value in (0..rounds).flat_map(|_| &events) {
                    black_box(
                        serde_json::to_vec(black_box(value)).map_err(|fault| fault.to_string())?,
                    );
                }
                Ok(())
            })
        },
    )?;
    tell(
        "canonical JSON against serde_json::to_vec",
        &format!("{times:.2} times"),
        "at most 2 times",
        times <= 2.0,
    )
}
