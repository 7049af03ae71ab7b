//! The server: all endpoints.

use std::future::Future;
use std::io;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::body::{Body as HttpBody, Bytes};
use axum::extract::rejection::BytesRejection;
use axum::extract::{
    DefaultBodyLimit, FromRequest, FromRequestParts, RawPathParams, Request, State,
};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use utoipa::{OpenApi, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::bodies::{self, Body, Chat, NewEdge, NewNode, NewRun, NodeChange, Resolve, RunChange};
use crate::event::Event;
use crate::policy::Served;
use crate::state::{Approval, EdgeState, Message, NodeState, Resolution, RunState};
use crate::{Engine, Id, Refusal, stream};

/// The most bytes of a body.
pub const MOST_BYTES: usize = 1 << 20;
/// How long pending requests may take at shutdown.
const PATIENCE: Duration = Duration::from_secs(2);

pub(crate) type Engines = State<Arc<Engine>>;

/// Serves the engine until `shutdown`, then closes it. The listener should be on loopback, because requests for other
/// hosts are refused.
///
/// # Errors
/// If the listener fails.
pub async fn serve(
    engine: Arc<Engine>,
    listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let endpoints = router(Arc::clone(&engine));
    serve_router(engine, endpoints, listener, shutdown).await
}

/// The same with another router, such as [`router`] with layers or more endpoints.
///
/// # Errors
/// If the listener fails.
pub async fn serve_router(
    engine: Arc<Engine>,
    endpoints: Router,
    listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let ending = async move {
        shutdown.await;
        // The other half is awaited below, while the server runs.
        let _ = stop.send(());
    };
    let served = axum::serve(listener, endpoints).with_graceful_shutdown(ending);
    let late = async {
        let _ = stopped.await;
        engine.close().await;
        tokio::time::sleep(PATIENCE).await;
    };
    // Do not wait for a client that never completes its request.
    let outcome = tokio::select! {
        outcome = served => outcome,
        () = late => Ok(()),
    };
    engine.close().await;
    outcome
}

/// Every endpoint, behind the checks of host and origin.
pub fn router(engine: Arc<Engine>) -> Router {
    let (router, page) = &*ENDPOINTS;
    router
        .clone()
        .route("/api/openapi.json", axum::routing::get(move || async move { Json(page) }))
        .fallback(async || Refusal::NoPath)
        .method_not_allowed_fallback(async || Refusal::NoMethod)
        .layer(DefaultBodyLimit::max(MOST_BYTES))
        .layer(middleware::from_fn_with_state(Arc::clone(&engine), only_this_machine))
        .with_state(engine)
}

/// The OpenAPI page of the endpoints, generated from their code.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    ENDPOINTS.1.clone()
}

/// Built once: building takes longer than answering most requests.
static ENDPOINTS: LazyLock<(Router<Arc<Engine>>, utoipa::openapi::OpenApi)> =
    LazyLock::new(endpoints);

fn endpoints() -> (Router<Arc<Engine>>, utoipa::openapi::OpenApi) {
    OpenApiRouter::with_openapi(Page::openapi())
        .routes(routes!(create_run, list_runs))
        .routes(routes!(read_run, change_run))
        .routes(routes!(read_events))
        .routes(routes!(create_node))
        .routes(routes!(change_node))
        .routes(routes!(create_edge))
        .routes(routes!(delete_edge))
        .routes(routes!(chat))
        .routes(routes!(list_approvals))
        .routes(routes!(resolve))
        .routes(routes!(stream::open))
        .split_for_parts()
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "runs",
        version = "1",
        description = "Runs of agents: REST and a stream of events."
    ),
    components(schemas(Event, Fault))
)]
struct Page;

/// The body of a refusal.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Fault {
    pub error: FaultBody,
}

#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct FaultBody {
    /// For machines.
    pub code: String,
    /// For people.
    pub message: String,
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, code) = self.code();
        let status = StatusCode::from_u16(status).expect("the codes of refusals are codes of HTTP");
        let error = FaultBody { code: code.to_owned(), message: self.to_string() };
        (status, Json(Fault { error })).into_response()
    }
}

/// Refuses pages of other machines, and DNS names that only point here.
async fn only_this_machine(State(engine): Engines, request: Request, next: Next) -> Response {
    match check_machine(&engine, &request) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

fn check_machine(engine: &Engine, request: &Request) -> Result<(), Refusal> {
    let policy = &engine.settings().policy;
    let text = |value: &header::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let hosts = request.headers().get_all(header::HOST).iter().map(text);
    let hosts: Vec<String> =
        hosts.chain(request.uri().authority().map(ToString::to_string)).collect();
    if hosts.is_empty() {
        return Err(Refusal::Forbidden("the request names no host".to_owned()));
    }
    if let Some(host) = hosts.iter().find(|host| !policy.allows_host(host)) {
        return Err(Refusal::Forbidden(format!("the host `{host}` is not loopback")));
    }
    let mut origins = request.headers().get_all(header::ORIGIN).iter().map(text);
    match origins.find(|origin| !policy.allows_origin(origin)) {
        Some(origin) => {
            Err(Refusal::Forbidden(format!("the origin `{origin}` is not this machine")))
        }
        None => Ok(()),
    }
}

/// The ids in a path, in its order.
async fn path_ids<S: Send + Sync, const N: usize>(
    parts: &mut Parts,
    state: &S,
) -> Result<[Id; N], Refusal> {
    let params = RawPathParams::from_request_parts(parts, state)
        .await
        .map_err(|fault| Refusal::Bad(fault.body_text()))?;
    let ids = params.iter().map(|(_, value)| value.parse::<Id>());
    let ids: Vec<Id> =
        ids.collect::<Result<_, _>>().map_err(|fault| Refusal::Bad(fault.to_string()))?;
    Ok(ids.try_into().expect("each route has as many ids as its handler takes"))
}

/// The one id in a path.
struct One(Id);

impl<S: Send + Sync> FromRequestParts<S> for One {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        path_ids(parts, state).await.map(|[id]| Self(id))
    }
}

/// The id of a run, and that of something in it.
struct Two(Id, Id);

impl<S: Send + Sync> FromRequestParts<S> for Two {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        path_ids(parts, state).await.map(|[run, id]| Self(run, id))
    }
}

/// A body, parsed strictly. Its content type does not matter: it must be JSON.
pub(crate) struct Strict<T>(pub(crate) T);

impl<S: Send + Sync, T: Body> FromRequest<S> for Strict<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &S) -> Result<Self, Refusal> {
        let bytes =
            Bytes::from_request(request, state).await.map_err(|fault: BytesRejection| {
                if fault.status() == StatusCode::PAYLOAD_TOO_LARGE {
                    Refusal::TooLarge(MOST_BYTES)
                } else {
                    Refusal::Bad(fault.body_text())
                }
            })?;
        bodies::read(&bytes).map(Self)
    }
}

#[utoipa::path(post, path = "/api/runs", request_body = NewRun,
    responses((status = 201, body = RunState), (status = "4XX", body = Fault), (status = "5XX", body = Fault)))]
async fn create_run(
    State(engine): Engines,
    Strict(body): Strict<NewRun>,
) -> Result<(StatusCode, Json<RunState>), Refusal> {
    Ok((StatusCode::CREATED, Json(engine.create_run(body).await?)))
}

#[utoipa::path(get, path = "/api/runs", responses((status = 200, body = Vec<RunState>), (status = "4XX", body = Fault), (status = "5XX", body = Fault)))]
async fn list_runs(State(engine): Engines) -> Result<Json<Vec<RunState>>, Refusal> {
    Ok(Json(engine.list_runs().await?))
}

#[utoipa::path(get, path = "/api/runs/{id}", params(("id" = Id, Path)),
    responses((status = 200, body = RunState), (status = "4XX", body = Fault), (status = "5XX", body = Fault)))]
async fn read_run(State(engine): Engines, One(id): One) -> Result<Json<RunState>, Refusal> {
    Ok(Json(engine.run(id)?.act(|desk| Ok(desk.fold.run.clone())).await?))
}

#[utoipa::path(patch, path = "/api/runs/{id}", params(("id" = Id, Path)), request_body = RunChange,
    responses((status = 200, body = RunState), (status = "4XX", body = Fault), (status = "5XX", body = Fault)))]
async fn change_run(
    State(engine): Engines,
    One(id): One,
    Strict(body): Strict<RunChange>,
) -> Result<Json<RunState>, Refusal> {
    Ok(Json(engine.run(id)?.act(move |desk| Ok(desk.change_run(&body))).await?))
}

#[utoipa::path(get, path = "/api/runs/{id}/events",
    params(("id" = Id, Path), ("after" = Option<Id>, Query, description = "only events after this one")),
    responses((status = 200, body = Vec<Event>), (status = "4XX", body = Fault), (status = "5XX", body = Fault)))]
async fn read_events(
    State(engine): Engines,
    One(id): One,
    stream::After(after): stream::After,
) -> Result<Response, Refusal> {
    let run = engine.run(id)?;
    let first = run.published().after(after).ok_or_else(|| stream::no_such_event(after))?;
    let to = if after.is_some() { Served::Rest } else { Served::Answer };
    let events = engine.settings().policy.served(to, run.published().from(first, usize::MAX));
    let mut list =
        String::with_capacity(2 + events.iter().map(|e| e.json.len() + 1).sum::<usize>());
    for (index, event) in events.iter().enumerate() {
        list.push(if index == 0 { '[' } else { ',' });
        list.push_str(&event.json);
    }
    list.push_str(if events.is_empty() { "[]" } else { "]" });
    Ok(([(header::CONTENT_TYPE, "application/json")], HttpBody::from(list)).into_response())
}

#[utoipa::path(post, path = "/api/runs/{id}/nodes", params(("id" = Id, Path)), request_body = NewNode,
    responses((status = 201, body = NodeState), (status = "4XX", body = Fault), (status = "5XX", body = Fault)))]
async fn create_node(
    State(engine): Engines,
    One(id): One,
    Strict(body): Strict<NewNode>,
) -> Result<(StatusCode, Json<NodeState>), Refusal> {
    let node = engine.run(id)?.act(move |desk| desk.create_node(&body)).await?;
    Ok((StatusCode::CREATED, Json(node)))
}

#[utoipa::path(patch, path = "/api/runs/{id}/nodes/{nodeId}", params(("id" = Id, Path), ("nodeId" = Id, Path)),
    request_body = NodeChange, responses((status = 200, body = NodeState), (status = "4XX", body = Fault), (status = "5XX", body = Fault)))]
async fn change_node(
    State(engine): Engines,
    Two(id, node): Two,
    Strict(body): Strict<NodeChange>,
) -> Result<Json<NodeState>, Refusal> {
    Ok(Json(engine.run(id)?.act(move |desk| desk.change_node(node, body)).await?))
}

#[utoipa::path(post, path = "/api/runs/{id}/edges", params(("id" = Id, Path)), request_body = NewEdge,
    responses((status = 201, body = EdgeState), (status = "4XX", body = Fault), (status = "5XX", body = Fault)))]
async fn create_edge(
    State(engine): Engines,
    One(id): One,
    Strict(body): Strict<NewEdge>,
) -> Result<(StatusCode, Json<EdgeState>), Refusal> {
    let edge = engine.run(id)?.act(move |desk| desk.create_edge(&body)).await?;
    Ok((StatusCode::CREATED, Json(edge)))
}

#[utoipa::path(delete, path = "/api/runs/{id}/edges/{edgeId}", params(("id" = Id, Path), ("edgeId" = Id, Path)),
    responses((status = 204), (status = "4XX", body = Fault), (status = "5XX", body = Fault)))]
async fn delete_edge(State(engine): Engines, Two(id, edge): Two) -> Result<StatusCode, Refusal> {
    engine.run(id)?.act(move |desk| desk.delete_edge(edge)).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[utoipa::path(post, path = "/api/runs/{id}/chat", params(("id" = Id, Path)), request_body = Chat,
    responses((status = 201, body = Message), (status = "4XX", body = Fault), (status = "5XX", body = Fault)))]
async fn chat(
    State(engine): Engines,
    One(id): One,
    Strict(body): Strict<Chat>,
) -> Result<(StatusCode, Json<Message>), Refusal> {
    let message = engine.run(id)?.act(move |desk| desk.chat(body)).await?;
    Ok((StatusCode::CREATED, Json(message)))
}

#[utoipa::path(get, path = "/api/approvals",
    responses((status = 200, body = Vec<Approval>), (status = "4XX", body = Fault), (status = "5XX", body = Fault)))]
async fn list_approvals(State(engine): Engines) -> Result<Json<Vec<Approval>>, Refusal> {
    Ok(Json(engine.list_approvals().await?))
}

#[utoipa::path(post, path = "/api/approvals/{id}/resolve", params(("id" = Id, Path)), request_body = Resolve,
    responses((status = 200, body = Resolution), (status = "4XX", body = Fault), (status = "5XX", body = Fault)))]
async fn resolve(
    State(engine): Engines,
    One(id): One,
    Strict(body): Strict<Resolve>,
) -> Result<Json<Resolution>, Refusal> {
    Ok(Json(engine.resolve(id, body.into()).await?))
}
