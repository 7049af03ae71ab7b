/** What the harness gives to a case, and what the subject keeps between its calls. */
export interface Session {
  readonly id: string;
  /** The contract whose case runs in this session: for adapters with servers of several contracts. */
  readonly contract: string | undefined;
  /** An absolute path to the session's own folder; absent for contracts that touch no files. */
  readonly workspace: string | undefined;
  readonly clock: Clock;
  readonly random: Random;
  /** Names of the collaborators that `fake` can reach. */
  readonly fakes: readonly string[];
  /** A collaborator that the harness plays. */
  fake(name: string): Fake;
  /** Keeps an object and gives the handle by which later calls name it: `kind-1`, `kind-2`, … */
  put(object: unknown, kind?: string): string;
  has(handle: unknown): boolean;
  /** The object of a handle. An unknown handle is an AdapterError; ask `has` first where the contract has a say. */
  get<T = any>(handle: unknown): T;
  remove(handle: unknown): boolean;
  /** To be done when the session closes or the adapter ends, the newest first. */
  onClose(cleanup: () => unknown): void;
}

export interface Clock {
  /** The next reading of the script, in ISO 8601. */
  now(): string;
}

/** Two tapes. A NotScriptedError when one is empty. */
export interface Random {
  int(): number;
  float(): number;
}

export interface Fake {
  /**
   * Asks the harness and waits; inside a call or outside of any, as long as the session is open. Rejects with a ContractError if
   * the collaborator fails, with a NotScriptedError if the session has no such collaborator, and with a SessionClosedError if the
   * session closes first.
   */
  call<T = any>(method: string, args?: Record<string, unknown>): Promise<T>;
}

/** The call that a handler works on. */
export interface Call {
  readonly id: number | string;
  /** Sends an item of the call's stream or log. Await it, and a slow reader slows you down instead of filling memory. */
  event(item: unknown): Promise<void>;
}

/**
 * Does one operation. What it returns, or what its promise becomes, is the call's value (`undefined` is sent as `null`).
 * Of a generator, sync or async, each item that is yielded is an event, and what it returns is the value.
 * What it throws is the contract's error if `isContractError` says so, else the adapter broke.
 * The harness may send any arguments; where a case sends wrong ones, it is the contract that says how to refuse them.
 */
export type Handler = (args: any, session: Session, call: Call) => unknown;

export type Operations = Readonly<Record<string, Handler>>;

export interface Adapter {
  readonly name: string;
  readonly version: string;
  readonly language: string;
  /** What to be certified for, for example `["sage.utils"]`. */
  readonly contracts: readonly string[];
  /** The test hooks that are offered. */
  readonly hooks?: readonly string[];
  readonly options?: Readonly<Record<string, unknown>>;
  /** Handlers by name; or a function that loads them, for an implementation that prints while it is loaded. */
  readonly operations: Operations | (() => Operations | Promise<Operations>);
  /**
   * Called for each session before its first call. If a contract has a wire of its own, return `{ wire }` for the session
   * (see `Opened`), and stop serving in `session.onClose`; anything else that is returned is not sent.
   */
  readonly open?: (session: Session) => unknown;
  /** Decides in place of the kit's `isContractError`. */
  readonly isContractError?: (error: unknown) => boolean;
}

/** What `open` returns where the session is spoken to on a server's own wire: one of the two, or both. */
export interface Opened {
  readonly wire: { readonly mcp: McpWire; readonly http?: HttpWire } | { readonly mcp?: McpWire; readonly http: HttpWire };
}

/** An MCP server that the harness starts. */
export interface McpWire {
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** An absolute path. */
  readonly directory?: string;
}

/** A server that the adapter has started, on loopback. */
export interface HttpWire {
  /** For example `http://127.0.0.1:43117`. */
  readonly base: string;
  /** Where the WebSocket of a run is; `/ws?runId={runId}&after={after}` if absent. */
  readonly stream?: string;
  /** Where the event log of a run is, in the workspace; `runs/{runId}/events.jsonl` if absent. */
  readonly log?: string;
}

/**
 * Answers the harness on stdin and stdout until the process is told to end. From here on descriptor 1 is stderr:
 * whatever prints, prints for people.
 */
export function serve(adapter: Adapter): void;

/** An error of the contract, with the code's own properties beside `code`. */
export class ContractError extends Error {
  constructor(
    code: string,
    message: string,
    properties?: Readonly<Record<string, unknown>>,
    more?: { readonly name?: string; readonly cause?: unknown },
  );
  code: string;
  [property: string]: unknown;
}

/** The adapter could not do it. `rpcCode` is -32000 unless given; -32602 says that the arguments make no sense. */
export class AdapterError extends Error {
  constructor(message: string, rpcCode?: number);
  rpcCode: number;
}

/** The case provides no such fake, or no further number on that tape. */
export class NotScriptedError extends AdapterError {
  constructor(message: string);
}

/** There is nobody left to ask: the session is closed, or the harness has gone. No collaborator has failed. */
export class SessionClosedError extends AdapterError {
  constructor(message: string);
}

/**
 * Whether a thrown value is the contract's own: a ContractError, or an object with a string `code` and `message` that
 * Node did not make. Node's errors (`errno` or `syscall`, as for ENOENT; codes that begin with `ERR_`; `ABORT_ERR`;
 * `MODULE_NOT_FOUND`) are not: to report one, throw a ContractError, or say so with `Adapter.isContractError`.
 */
export function isContractError(error: unknown): boolean;

/** An error as the protocol's flat object, for operations that answer with an error as a value. */
export function flattenError(error: object): Record<string, unknown>;
