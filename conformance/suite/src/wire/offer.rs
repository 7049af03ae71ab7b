//! Reads the part of the answer to `open` that names the session's server.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::subject::SubjectCommand;
use proofmark_judge::wire::{HttpPaths, Wire};

/// A wire that an adapter offers.
pub enum Offer {
    Mcp(SubjectCommand),
    Http(HttpServer),
}

/// A server on loopback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpServer {
    pub address: SocketAddr,
    /// The value of the `Host` header.
    pub authority: String,
    pub paths: HttpPaths,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct McpEntry {
    command: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    directory: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HttpEntry {
    base: String,
    stream: Option<String>,
    log: Option<String>,
}

impl Offer {
    /// Reads the answer to `open`.
    pub fn read(wire: Wire, paths: &HttpPaths, answer: &Value) -> Result<Self, String> {
        let Some(named) = answer.get("wire").and_then(|wires| wires.get(wire.name())) else {
            return Err(format!(
                "the answer to `open` names no wire `{wire}`; it must be like {}",
                example(wire)
            ));
        };
        let wrong = |message: String| {
            format!("the wire `{wire}` in the answer to `open` is invalid: {message}")
        };
        match wire {
            Wire::Mcp => {
                let entry: McpEntry = read(named).map_err(wrong)?;
                mcp(entry).map(Self::Mcp).map_err(wrong)
            }
            Wire::Http => {
                let entry: HttpEntry = read(named).map_err(wrong)?;
                http(entry, paths).map(Self::Http).map_err(wrong)
            }
        }
    }
}

fn read<T: serde::de::DeserializeOwned>(named: &Value) -> Result<T, String> {
    T::deserialize(named).map_err(|fault| fault.to_string())
}

fn example(wire: Wire) -> Value {
    match wire {
        Wire::Mcp => json!({"wire": {"mcp": {"command": ["my-server", "--stdio"]}}}),
        Wire::Http => json!({"wire": {"http": {"base": "http://127.0.0.1:43117"}}}),
    }
}

fn mcp(entry: McpEntry) -> Result<SubjectCommand, String> {
    let Some((program, args)) = entry.command.split_first().filter(|(it, _)| !it.is_empty()) else {
        return Err("`command` is empty; it is the server's program and its arguments".to_owned());
    };
    Ok(SubjectCommand {
        program: program.into(),
        args: args.iter().map(Into::into).collect(),
        shown: entry.command.join(" "),
        environment: entry.env,
        directory: entry.directory,
    })
}

/// Accepts only servers on loopback: the harness must not judge or flood any other machine.
fn http(entry: HttpEntry, paths: &HttpPaths) -> Result<HttpServer, String> {
    let wrong = || {
        format!(
            "`base` is `{}`; it must be http://127.0.0.1:PORT, http://[::1]:PORT or http://localhost:PORT, with no path",
            entry.base
        )
    };
    let authority = entry.base.strip_prefix("http://").ok_or_else(wrong)?;
    let authority = authority.strip_suffix('/').unwrap_or(authority);
    let (host, port) = authority.rsplit_once(':').ok_or_else(wrong)?;
    let port: u16 = port.parse().map_err(|_| wrong())?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let ip: IpAddr = match host {
        "localhost" => IpAddr::from([127, 0, 0, 1]),
        other => other.parse().map_err(|_| wrong())?,
    };
    if !ip.is_loopback() || port == 0 {
        return Err(wrong());
    }
    Ok(HttpServer {
        address: SocketAddr::new(ip, port),
        authority: authority.to_owned(),
        paths: HttpPaths {
            stream: entry.stream.or_else(|| paths.stream.clone()),
            log: entry.log.or_else(|| paths.log.clone()),
        },
    })
}

/// Neither the ledger nor the adapter gives a path that a case uses.
pub(super) fn no_path(name: &str) -> String {
    format!(
        "no path for `{name}`: give `{name}` of the wire `http` in the answer to `open`, or set a default in the ledger"
    )
}

/// Fills a template. Query parameters without a value are omitted.
pub(super) fn filled(
    template: &str,
    values: &BTreeMap<String, String>,
    escape: impl Fn(&str) -> String,
) -> Result<String, String> {
    for name in values.keys() {
        if !template.contains(&format!("{{{name}}}")) {
            return Err(format!("`{template}` has no placeholder for `{name}`"));
        }
    }
    let fill = |part: &str| {
        let mut part = part.to_owned();
        for (name, value) in values {
            part = part.replace(&format!("{{{name}}}"), &escape(value));
        }
        part
    };
    let (path, query) = template.split_once('?').unwrap_or((template, ""));
    let path = fill(path);
    let parameters: Vec<String> = query
        .split('&')
        .filter(|part| !part.is_empty())
        .map(fill)
        .filter(|part| !part.contains('{'))
        .collect();
    if path.contains('{') {
        return Err(format!("`{template}` needs a value that the case does not give"));
    }
    Ok(match parameters.as_slice() {
        [] => path,
        some => format!("{path}?{}", some.join("&")),
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("http://127.0.0.1:80", true)]
    #[case("http://[::1]:8080/", true)]
    #[case("http://localhost:8080", true)]
    #[case("http://127.0.0.1", false)]
    #[case("http://10.0.0.1:80", false)]
    #[case("http://example.org:80", false)]
    #[case("https://127.0.0.1:80", false)]
    #[case("http://127.0.0.1:80/api", false)]
    #[case("http://127.0.0.1:0", false)]
    fn only_loopback_is_accepted(#[case] base: &str, #[case] right: bool) {
        let answer = json!({"wire": {"http": {"base": base}}});
        assert_eq!(Offer::read(Wire::Http, &HttpPaths::default(), &answer).is_ok(), right);
    }

    #[rstest]
    #[case(json!({}))]
    #[case(json!(null))]
    #[case(json!({"wire": {"http": {"base": "http://127.0.0.1:1"}}}))]
    #[case(json!({"wire": {"mcp": {"command": []}}}))]
    #[case(json!({"wire": {"mcp": {"command": ["a"], "cwd": "/"}}}))]
    fn an_answer_without_a_server_is_refused(#[case] answer: Value) {
        let message =
            Offer::read(Wire::Mcp, &HttpPaths::default(), &answer).err().unwrap_or_default();
        assert!(message.contains("`mcp`"), "{message}");
    }

    #[test]
    fn query_parameters_without_a_value_are_omitted() {
        let values = BTreeMap::from([("runId".to_owned(), "a b".to_owned())]);
        let escape = |text: &str| text.replace(' ', "%20");
        let filled = |template| filled(template, &values, escape);
        assert_eq!(filled("/ws?runId={runId}&after={after}"), Ok("/ws?runId=a%20b".to_owned()));
        assert_eq!(filled("/runs/{runId}/ws?after={after}"), Ok("/runs/a%20b/ws".to_owned()));
        assert!(filled("/ws?after={after}").is_err(), "the run would be lost");
        assert!(filled("/{run}?id={runId}").is_err());
    }
}
