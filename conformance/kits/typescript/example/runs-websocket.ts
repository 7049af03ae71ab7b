/**
 * The server's side of a send-only WebSocket (RFC 6455). Incoming frames are checked for valid framing and then
 * ignored; incoming messages are never stored, however long they are.
 */

import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { EventLog } from "./runs-log.ts";
import { Refusal } from "./runs-validation.ts";

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/** How long the other side may take to close after our close frame. */
const GOODBYE_MS = 1000;

const CONTINUATION = 0x0;
const TEXT = 0x1;
const BINARY = 0x2;
const CLOSE = 0x8;
const PING = 0x9;
const PONG = 0xa;

const GOING_AWAY = 1001;
const PROTOCOL_ERROR = 1002;
const BAD_TEXT = 1007;
const TOO_BIG = 1009;

/** The answer to a handshake, or a refusal. */
export function handshakeAnswer({ method, headers }: IncomingMessage): string {
  const names = (value: string | undefined) => (value ?? "").toLowerCase().split(",").map((name) => name.trim());
  if (method !== "GET") throw new Refusal(405, "METHOD_NOT_ALLOWED", "a WebSocket is opened with GET");
  if (!names(headers.upgrade).includes("websocket") || !names(headers.connection).includes("upgrade")) throw upgradeRequired();
  if (headers["sec-websocket-version"] !== "13") throw upgradeRequired();
  const key = headers["sec-websocket-key"] ?? "";
  if (!/^[A-Za-z0-9+/]{22}==$/.test(key)) throw new Refusal(400, "INVALID", "`Sec-WebSocket-Key` must be 16 bytes in base64");
  const accept = createHash("sha1").update(key + GUID).digest("base64");
  return `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`;
}

export function upgradeRequired(): Refusal {
  return new Refusal(426, "UPGRADE_REQUIRED", "this is a WebSocket, version 13");
}

export class Consumer {
  readonly #socket: Socket;
  #pending: Buffer = Buffer.alloc(0);
  /** Bytes of a message's payload that are still to come. */
  #skip = 0;
  #isInMessage = false;
  #isClosed = false;
  /** Resolves a pending wait for buffer space, for news or for the end. */
  #wake: () => void = () => {};
  readonly closed: Promise<void>;

  constructor(socket: Socket, head: Buffer) {
    this.#socket = socket;
    this.closed = new Promise((resolve) => socket.once("close", resolve));
    socket.on("close", () => this.#over());
    // A reset connection is closed too; `close` follows.
    socket.on("error", () => {});
    socket.on("end", () => this.close(GOING_AWAY));
    socket.on("drain", () => this.#wake());
    socket.on("data", (chunk: Buffer) => this.#receive(chunk));
    if (head.length > 0) this.#receive(head);
  }

  /**
   * Sends the lines of a log from a position on: the existing ones, then new ones. It reads only as fast as the consumer,
   * so a slow one costs no memory.
   */
  async follow(log: EventLog, from: number): Promise<void> {
    const unwatch = log.watch(() => this.#wake());
    try {
      for (let at = from; !this.#isClosed; ) {
        if (at === log.size) await this.#woken();
        for await (const { text, end } of log.lines(at)) {
          at = end;
          if (this.#isClosed) return;
          if (!this.#send(TEXT, Buffer.from(text))) await this.#room();
        }
      }
    } finally {
      unwatch();
    }
  }

  /** Sends a close frame with a code, once, and closes the connection. */
  close(code = GOING_AWAY): void {
    if (this.#isClosed) return;
    const payload = Buffer.alloc(2);
    payload.writeUInt16BE(code);
    this.#send(CLOSE, payload);
    this.#over();
    this.#socket.end();
    const timer = setTimeout(() => this.#socket.destroy(), GOODBYE_MS);
    this.#socket.once("close", () => clearTimeout(timer));
  }

  /** For a server shutdown: sends a close frame without waiting for the answer. */
  hangUp(): void {
    this.close(GOING_AWAY);
    this.#socket.destroySoon();
  }

  #over(): void {
    this.#isClosed = true;
    this.#wake();
  }

  #woken(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve));
  }

  async #room(): Promise<void> {
    while (this.#socket.writableNeedDrain && !this.#isClosed) await this.#woken();
  }

  #send(opcode: number, payload: Buffer): boolean {
    return this.#socket.write(Buffer.concat([frameHead(opcode, payload.length), payload]));
  }

  #receive(chunk: Buffer): void {
    if (this.#isClosed) return;
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    while (!this.#isClosed) {
      const skipped = Math.min(this.#skip, this.#pending.length);
      this.#pending = this.#pending.subarray(skipped);
      this.#skip -= skipped;
      if (this.#skip > 0 || !this.#frame()) return;
    }
  }

  /** Reads a frame header, and the whole of a control frame. False if more bytes are needed. */
  #frame(): boolean {
    const bytes = this.#pending;
    if (bytes.length < 2) return false;
    const [first = 0, second = 0] = bytes;
    const opcode = first & 0x0f;
    const isLast = (first & 0x80) !== 0;
    const isControl = opcode >= CLOSE;
    const shortLength = second & 0x7f;
    const isLawful =
      (first & 0x70) === 0 &&
      // Clients must mask their frames.
      (second & 0x80) !== 0 &&
      (isControl ? isLast && shortLength < 126 && opcode <= PONG : this.#mayFollow(opcode));
    if (!isLawful) return this.#fail(PROTOCOL_ERROR);
    const lengthBytes = shortLength === 126 ? 2 : shortLength === 127 ? 8 : 0;
    const headLength = 2 + lengthBytes + 4;
    if (bytes.length < headLength) return false;
    const length =
      lengthBytes === 0 ? shortLength : lengthBytes === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
    if (isControl) {
      if (bytes.length < headLength + length) return false;
      const mask = bytes.subarray(headLength - 4, headLength);
      const payload = bytes.subarray(headLength, headLength + length).map((byte, at) => byte ^ (mask[at % 4] ?? 0));
      this.#pending = bytes.subarray(headLength + length);
      this.#control(opcode, Buffer.from(payload));
      return true;
    }
    if (!Number.isSafeInteger(length)) return this.#fail(TOO_BIG);
    this.#isInMessage = !isLast;
    this.#skip = length;
    this.#pending = bytes.subarray(headLength);
    return true;
  }

  #mayFollow(opcode: number): boolean {
    return this.#isInMessage ? opcode === CONTINUATION : opcode === TEXT || opcode === BINARY;
  }

  #control(opcode: number, payload: Buffer): void {
    // A client that pings without reading must not fill our memory with pongs.
    if (opcode === PING && !this.#socket.writableNeedDrain) this.#send(PONG, payload);
    if (opcode !== CLOSE) return;
    if (payload.length === 1) return void this.#fail(PROTOCOL_ERROR);
    if (payload.length === 0) return this.close(1000);
    const code = payload.readUInt16BE(0);
    const isKnown = (code >= 1000 && code <= 1014 && ![1004, 1005, 1006].includes(code)) || (code >= 3000 && code <= 4999);
    if (!isKnown) return void this.#fail(PROTOCOL_ERROR);
    this.close(isUtf8(payload.subarray(2)) ? code : BAD_TEXT);
  }

  #fail(code: number): boolean {
    this.close(code);
    return false;
  }
}

function frameHead(opcode: number, length: number): Buffer {
  if (length < 126) return Buffer.from([0x80 | opcode, length]);
  const isShort = length < 65536;
  const head = Buffer.alloc(isShort ? 4 : 10);
  head[0] = 0x80 | opcode;
  head[1] = isShort ? 126 : 127;
  if (isShort) head.writeUInt16BE(length, 2);
  else head.writeBigUInt64BE(BigInt(length), 2);
  return head;
}
