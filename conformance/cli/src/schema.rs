//! `proofmark schema`: JSON Schemas of the file formats.

use std::io::Write;

use clap::builder::PossibleValuesParser;

use crate::exit::{Exit, Failed};

/// Name and JSON Schema (2020-12). To add a schema, add a line.
const SCHEMAS: &[(&str, &str)] = &[
    ("report", proofmark_report::json::SCHEMA),
    ("manifest", include_str!("../schemas/manifest.schema.json")),
    ("fixture", include_str!("../../suite/schemas/fixture.schema.json")),
    ("ledger", include_str!("../../suite/schemas/ledger.schema.json")),
];

/// Print the JSON Schema of a file format.
#[derive(Debug, clap::Args)]
pub(crate) struct SchemaArgs {
    #[arg(value_name = "FORMAT", value_parser = PossibleValuesParser::new(SCHEMAS.iter().map(|(name, _)| *name)))]
    format: String,
}

/// Writes the schema to `out` and nothing else.
pub(crate) fn schema(args: &SchemaArgs, out: &mut dyn Write) -> Result<Exit, Failed> {
    let schema = SCHEMAS.iter().find(|(name, _)| *name == args.format);
    let (_, text) = schema.expect("the parser takes no other name");
    out.write_all(text.as_bytes())?;
    Ok(Exit::Holds)
}
