/** The harness's setup for a case, and the subject's state between calls. */
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
  /** Stores an object and returns a handle for later calls: `kind-1`, `kind-2`, … */
  put(object: unknown, kind?: string): string;
  has(handle: unknown): boolean;
  /** The object of a handle. Throws an AdapterError for an unknown one; call `has` first if the contract defines that error. */
  get<T = any>(handle: unknown): T;
  remove(handle: unknown): boolean;
  /** Registers a cleanup for when the session closes or the adapter ends; the last one runs first. */
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
   * Asks the harness and waits, inside or outside a call, as long as the session is open. Rejects with a ContractError if
   * the collaborator fails, with a NotScriptedError if the session has no such collaborator, and with a SessionClosedError if the
   * session closes first.
   */
  call<T = any>(method: string, args?: Record<string, unknown>): Promise<T>;
}

/** The call that a handler works on. */
export interface Call {
  readonly id: number | string;
  /** Sends an item of the call's stream or log. Await it, so that a slow reader slows you down instead of filling memory. */
  event(item: unknown): Promise<void>;
}

/**
 * Handles one operation. Its result, or what its promise resolves to, is the call's value (`undefined` is sent as `null`).
 * For a generator, sync or async, each yielded item is an event, and the return value is the call's value.
 * A thrown value is a contract error if `isContractError` says so, otherwise an adapter failure.
 * The harness may send any arguments; the contract says how to refuse wrong ones.
 */
export type Handler = (args: any, session: Session, call: Call) => unknown;

export type Operations = Readonly<Record<string, Handler>>;

export interface Adapter {
  readonly name: string;
  readonly version: string;
  readonly language: string;
  /** The claimed contracts, for example `["sage.utils"]`. */
  readonly contracts: readonly string[];
  /** The offered test hooks. */
  readonly hooks?: readonly string[];
  readonly options?: Readonly<Record<string, unknown>>;
  /** Handlers by name; or a function that loads them, for an implementation that prints while it is loaded. */
  readonly operations: Operations | (() => Operations | Promise<Operations>);
  /**
   * Called for each session before its first call. If a contract has a wire of its own, return `{ wire }` for the session
   * (see `Opened`), and stop serving in `session.onClose`; any other result is ignored.
   */
  readonly open?: (session: Session) => unknown;
  /** Replaces the kit's `isContractError`. */
  readonly isContractError?: (error: unknown) => boolean;
}

/** The result of `open` for a contract on a server's own wire: one of the two, or both. */
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
  /** The WebSocket of a run; `/ws?runId={runId}&after={after}` if absent. */
  readonly stream?: string;
  /** The event log of a run, in the workspace; `runs/{runId}/events.jsonl` if absent. */
  readonly log?: string;
}

/**
 * Answers the harness on stdin and stdout until shutdown. From here on descriptor 1 is stderr:
 * anything printed goes there.
 */
export function serve(adapter: Adapter): void;

/** An error of the contract, with the code's own properties besides `code`. */
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

/** The adapter failed. `rpcCode` defaults to -32000; -32602 means invalid arguments. */
export class AdapterError extends Error {
  constructor(message: string, rpcCode?: number);
  rpcCode: number;
}

/** The case provides no such fake, or no further number on that tape. */
export class NotScriptedError extends AdapterError {
  constructor(message: string);
}

/** The session is closed, or the harness has gone. No collaborator has failed. */
export class SessionClosedError extends AdapterError {
  constructor(message: string);
}

/**
 * Whether a thrown value is a contract error: a ContractError, or an object with a string `code` and `message` that
 * Node did not make. Node's errors (`errno` or `syscall`, as for ENOENT; codes that begin with `ERR_`; `ABORT_ERR`;
 * `MODULE_NOT_FOUND`) are not: to report one, throw a ContractError, or say so with `Adapter.isContractError`.
 */
export function isContractError(error: unknown): boolean;

/** An error as the protocol's flat object, for operations that answer with an error as a value. */
export function flattenError(error: object): Record<string, unknown>;
