/** The REST and WebSocket server of a folder of runs, on loopback. */

import { isUtf8 } from "node:buffer";
import { once } from "node:events";
import { createServer, STATUS_CODES, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { Readable, type Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { LogError, reason } from "./runs-log.ts";
import type { Runs } from "./runs-server.ts";
import { invalid, newRun, parseBody, Refusal } from "./runs-validation.ts";
import { Consumer, handshakeAnswer, upgradeRequired } from "./runs-websocket.ts";

const BODY_LIMIT = 1024 * 1024;
/** How much of an oversized body is read and discarded, so that its sender gets the answer. */
const PATIENCE = 16 * 1024 * 1024;
const CONNECTION_LIMIT = 1024;
/** Longer than a user's pause between two requests: a request on a closing connection is lost. */
const KEEP_ALIVE_MS = 60_000;

type Answer = string | undefined | AsyncIterable<string>;
type Handler = (runs: Runs, ids: string[], request: { body: string; url: URL }) => Promise<Answer>;

/** `:id` stands for a segment that is an id. */
const ROUTES: Readonly<Record<string, Readonly<Record<string, Handler>>>> = {
  "api/runs": {
    GET: (runs) => runs.list(),
    POST: async (runs, _, { body }) => runs.create(newRun(parseBody(body))),
  },
  "api/runs/:id": {
    GET: (runs, [id = ""]) => runs.get(id),
    PATCH: async (runs, [id = ""], { body }) => runs.patch(id, parseBody(body)),
  },
  "api/runs/:id/events": { GET: (runs, [id = ""], { url }) => runs.events(id, queried(url, "after")) },
  "api/runs/:id/nodes": { POST: async (runs, [id = ""], { body }) => runs.createNode(id, parseBody(body)) },
  "api/runs/:id/nodes/:id": {
    PATCH: async (runs, [id = "", nodeId = ""], { body }) => runs.changeNode(id, nodeId, parseBody(body)),
  },
  "api/runs/:id/edges": { POST: async (runs, [id = ""], { body }) => runs.createEdge(id, parseBody(body)) },
  "api/runs/:id/edges/:id": { DELETE: (runs, [id = "", edgeId = ""]) => runs.deleteEdge(id, edgeId) },
  "api/runs/:id/chat": { POST: async (runs, [id = ""], { body }) => runs.chat(id, parseBody(body)) },
  "api/approvals": { GET: (runs) => runs.approvals() },
  "api/approvals/:id/resolve": { POST: async (runs, [id = ""], { body }) => runs.resolve(id, parseBody(body)) },
  ws: {
    GET: async () => {
      throw upgradeRequired();
    },
  },
};

const PATTERNS = Object.entries(ROUTES).map(([pattern, methods]) => ({ segments: pattern.split("/"), methods }));

export class RunsServer {
  readonly #runs: Runs;
  readonly #server: Server;
  readonly #consumers = new Set<Consumer>();

  constructor(runs: Runs) {
    this.#runs = runs;
    // A request without a host is refused here, with a reason.
    this.#server = createServer({ requireHostHeader: false }, (request, response) => void this.#respond(request, response));
    this.#server.maxConnections = CONNECTION_LIMIT;
    this.#server.keepAliveTimeout = KEEP_ALIVE_MS;
    this.#server.on("upgrade", (request, socket, head) => void this.#upgrade(request, socket, head));
    this.#server.on("clientError", (error, socket) => refuseSocket(socket, invalid(`this is not HTTP: ${error.message}`)));
  }

  /** Listens on a free loopback port and returns its address. */
  async listen(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Stops serving and closes all sockets. Resolves when every connection is closed. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    const consumers = [...this.#consumers];
    for (const consumer of consumers) consumer.hangUp();
    await Promise.all(consumers.map((consumer) => consumer.closed));
    await closed;
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      checkSource(request);
      const url = urlOf(request);
      const { handler, ids } = routeOf(request.method ?? "", url);
      const answer = await handler(this.#runs, ids, { body: await bodyOf(request), url });
      await send(response, answer);
    } catch (error) {
      if (response.headersSent) return void response.destroy();
      const refusal = refusalOf(error);
      // The rest of the request is not read, so the connection cannot be reused.
      if (hasBody(request) && !request.complete) response.setHeader("connection", "close");
      if (refusal.status === 405) response.setHeader("allow", allowed(request));
      response.writeHead(refusal.status, { "content-type": "application/json" }).end(refusalText(refusal));
    }
  }

  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    // Until a consumer takes over, ignore a broken connection.
    socket.on("error", () => {});
    try {
      checkSource(request);
      const url = urlOf(request);
      if (url.pathname !== "/ws") throw new Refusal(404, "NOT_FOUND", `there is no WebSocket at \`${url.pathname}\``);
      const answer = handshakeAnswer(request);
      const runId = queried(url, "runId");
      if (runId === undefined) throw invalid("`runId` is required");
      const run = this.#runs.run(runId);
      const from = await this.#runs.positionAfter(run, queried(url, "after"));
      if (socket.destroyed || !this.#server.listening) return void socket.destroy();
      socket.write(answer);
      // An HTTP server's connections are always sockets; the type is just wider.
      const consumer = new Consumer(socket as Socket, head);
      this.#consumers.add(consumer);
      void consumer.closed.then(() => this.#consumers.delete(consumer));
      await consumer.follow(run.log, from).catch((error: unknown) => {
        console.error("a stream ended early:", error);
        consumer.close(1011);
      });
    } catch (error) {
      refuseSocket(socket, refusalOf(error));
    }
  }
}

/** Only this machine may use the server: no page of another site, and no rebound DNS name. */
function checkSource({ headers: { host, origin } }: IncomingMessage): void {
  if (host === undefined) throw invalid("`Host` is required");
  if (!isLoopback(`http://${host}`)) throw new Refusal(403, "FORBIDDEN", `the host \`${host}\` is not loopback`);
  if (origin !== undefined && !isLoopback(origin)) throw new Refusal(403, "FORBIDDEN", `the origin \`${origin}\` is not this machine`);
}

function isLoopback(address: string): boolean {
  // Only scheme, host and port: these headers may have nothing else.
  if (!/^https?:\/\/[^/?#@\s\\]+$/i.test(address) || !URL.canParse(address)) return false;
  const { hostname } = new URL(address);
  return hostname === "localhost" || hostname === "[::1]" || /^127(\.\d{1,3}){3}$/.test(hostname);
}

function urlOf({ url = "" }: IncomingMessage): URL {
  // A path only: two leading slashes would name a host.
  if (!url.startsWith("/") || !URL.canParse(`http://localhost${url}`)) throw invalid("the path of the request is invalid");
  return new URL(`http://localhost${url}`);
}

function queried(url: URL, name: string): string | undefined {
  const [value, ...more] = url.searchParams.getAll(name);
  if (more.length > 0) throw invalid(`\`${name}\` occurs more than once`);
  return value;
}

function routeOf(method: string, url: URL): { handler: Handler; ids: string[] } {
  const { methods, ids } = matched(url) ?? {};
  if (methods === undefined || ids === undefined) throw new Refusal(404, "NOT_FOUND", `there is nothing at \`${url.pathname}\``);
  const handler = Object.hasOwn(methods, method) ? methods[method] : undefined;
  if (handler === undefined) throw new Refusal(405, "METHOD_NOT_ALLOWED", `\`${url.pathname}\` has no ${method}`);
  return { handler, ids };
}

function matched(url: URL): { methods: Readonly<Record<string, Handler>>; ids: string[] } | undefined {
  const path = url.pathname.slice(1).split("/");
  for (const { segments, methods } of PATTERNS) {
    const fits =
      segments.length === path.length && segments.every((segment, at) => (segment === ":id" ? path[at] !== "" : segment === path[at]));
    if (fits) return { methods, ids: path.filter((_, at) => segments[at] === ":id").map(decoded) };
  }
  return undefined;
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw invalid(`\`${segment}\` is not a valid percent-encoded path segment`);
  }
}

function allowed(request: IncomingMessage): string {
  return Object.keys(matched(urlOf(request))?.methods ?? {}).join(", ");
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  // Leaving the loop must not close the connection, which still has to carry the refusal.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > PATIENCE) break;
    if (size <= BODY_LIMIT) chunks.push(chunk);
    else chunks.length = 0;
  }
  if (size > BODY_LIMIT) throw new Refusal(413, "TOO_LARGE", `the body is larger than ${BODY_LIMIT} bytes`);
  const bytes = Buffer.concat(chunks);
  if (!isUtf8(bytes)) throw invalid("the body is not UTF-8");
  return bytes.toString("utf8");
}

async function send(response: ServerResponse, answer: Answer): Promise<void> {
  if (answer === undefined) response.writeHead(204).end();
  else if (typeof answer === "string") {
    response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(answer) }).end(answer);
  } else {
    response.setHeader("content-type", "application/json");
    await pipeline(Readable.from(answer), response);
  }
}

function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  if (!(error instanceof LogError)) console.error("cannot answer a request:", error);
  return new Refusal(500, "INTERNAL", reason(error));
}

function refusalText({ code, message }: Refusal): string {
  return JSON.stringify({ error: { code, message: message.toWellFormed() } });
}

function refuseSocket(socket: Duplex, refusal: Refusal): void {
  if (!socket.writable) return void socket.destroy();
  const text = refusalText(refusal);
  const head = [
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status] ?? "Refused"}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(text)}`,
    "Connection: close",
    ...(refusal.status === 426 ? ["Upgrade: websocket", "Sec-WebSocket-Version: 13"] : []),
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${text}`);
}
