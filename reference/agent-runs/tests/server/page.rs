//! The OpenAPI page: what the server serves is what its code says.

use serde_json::json;

use crate::lab::Lab;

#[tokio::test]
async fn the_server_serves_its_page_with_every_endpoint() {
    let lab = Lab::start().await;
    let page = lab.get("/api/openapi.json").await;
    assert_eq!(page, serde_json::to_value(agent_runs::openapi()).unwrap());
    let mut listed: Vec<String> = Vec::new();
    for (path, operations) in page["paths"].as_object().unwrap() {
        listed.extend(
            operations.as_object().unwrap().keys().map(|method| format!("{method} {path}")),
        );
    }
    listed.sort();
    let wanted = [
        "delete /api/runs/{id}/edges/{edgeId}",
        "get /api/approvals",
        "get /api/runs",
        "get /api/runs/{id}",
        "get /api/runs/{id}/events",
        "get /ws",
        "patch /api/runs/{id}",
        "patch /api/runs/{id}/nodes/{nodeId}",
        "post /api/approvals/{id}/resolve",
        "post /api/runs",
        "post /api/runs/{id}/chat",
        "post /api/runs/{id}/edges",
        "post /api/runs/{id}/nodes",
    ];
    assert_eq!(listed, wanted);
}

#[test]
fn the_page_would_find_a_wrong_answer() {
    let wrong = std::panic::catch_unwind(|| {
        crate::lab::hold_against_page("GET", "/api/runs", 200, &json!([{ "id": "x" }]));
    });
    assert!(wrong.is_err());
    let wrong = std::panic::catch_unwind(|| {
        crate::lab::hold_against("Event", &json!({ "type": "run.phase" }))
    });
    assert!(wrong.is_err());
}
