/**
 * HTTP servers that slow and hostile clients can't hold: heads, bodies and the reading of answers have time limits, and
 * when all connections are taken the one that has gone longest without a complete request makes room for the next.
 */

import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { createServer as createSecureServer, type Server as SecureServer } from 'node:https';
import { isIPv6, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { reasonOf } from '../errors.js';
import { portErrors } from './errors.js';
import { boundUnread, oneAtATime } from './http-answers.js';
import type { TlsFiles, TlsLog, TlsPair } from './tls-files.js';

/** Times in milliseconds. */
export interface HttpLimits {
  /** From the connection, or the first byte of the next request, to the end of the head. */
  readonly headMs: number;
  /** From the first byte of a request to the end of its body. */
  readonly requestMs: number;
  /** From the end of the head to the end of the answer; a client that does not read is cut off. 0 is unlimited. */
  readonly answerMs: number;
  /** Time for which a connection without a request is kept. */
  readonly idleMs: number;
  /** Interval of the checks of head and request. */
  readonly checkMs: number;
  /** Longest head in bytes. */
  readonly headBytes: number;
  readonly connections: number;
  /** Bytes of answers that clients have not read yet, of all connections together. */
  readonly unreadBytes: number;
}

const oldestTls = 'TLSv1.2';

const defaultLimits: HttpLimits = {
  headMs: 20_000,
  requestMs: 120_000,
  answerMs: 300_000,
  idleMs: 60_000,
  checkMs: 1000,
  headBytes: 32 * 1024,
  connections: 500,
  unreadBytes: 256 << 20,
};

const connectionsOf = new WeakMap<Server, Connections>();

/** Notes that a connection goes on in another protocol: it counts as answered, not as idle. */
export function noteUpgrade(http: Server, request: IncomingMessage): void {
  const open = connectionsOf.get(http);
  if (open?.has(request.socket) === true) open.set(request.socket, request);
}

/** Makes a server with limits; throws a `config` error when certificate and key can't be used. */
export function createHttpServer(
  handle: RequestListener,
  { tls, limits: given }: { tls?: TlsPair; limits?: Partial<HttpLimits> } = {},
): Server {
  const limits = { ...defaultLimits, ...given };
  const options = {
    headersTimeout: limits.headMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.idleMs,
    connectionsCheckingInterval: limits.checkMs,
    maxHeaderSize: limits.headBytes,
    // Refused below, with a body.
    requireHostHeader: false,
  };
  // A Map keeps the order of insertion: who was answered last stands last. The value is the request under way.
  const open = new Map<Socket, IncomingMessage | undefined>();
  const watchUnread = boundUnread(limits.unreadBytes);
  const listener = oneAtATime((request, response) => {
    watchUnread(response);
    watchAnswer(open, request, response, limits.answerMs);
    if (request.httpVersion === '1.1' && request.headers.host === undefined) {
      refuse(response, 400, 'the header Host is missing');
    } else handle(request, response);
  });
  let http: Server;
  if (tls === undefined) http = createServer(options, listener);
  else {
    const secure = { ...options, ...tls.pem, handshakeTimeout: limits.headMs, minVersion: oldestTls } as const;
    try {
      http = withNewest(createSecureServer(secure, listener), tls);
    } catch (error) {
      throw portErrors.badPair(reasonOf(error), { cause: error });
    }
  }
  if (tls !== undefined) boundHandshakes(http, limits.connections);
  boundConnections(http, tls === undefined ? 'connection' : 'secureConnection', open, limits.connections);
  http.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    refuse(response, 417, `the expectation ${request.headers.expect} can't be met`);
  });
  connectionsOf.set(http, open);
  http.on('clientError', refuseBytes);
  return http;
}

/** Each connection gets the certificate that is on disk then. */
function withNewest(http: SecureServer, tls: TlsPair): SecureServer {
  // Before the handshake begins.
  http.prependListener('connection', () => {
    const pem = tls.renewed();
    if (pem !== undefined) http.setSecureContext({ ...pem, minVersion: oldestTls });
  });
  return http;
}

/**
 * Listens; resolves with the address. Port 0 takes a free one. `what` begins the error text, `setting` is the one that
 * has the port.
 */
export function listen(http: Server, ip: string, port: number, what: string, setting: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException) => {
      const isTaken = error.code === 'EADDRINUSE';
      const reason = isTaken ? `the port is in use by another program, ${setting} sets another one` : error.message;
      reject(portErrors.noPort(what, ip, port, reason, { cause: error }));
    };
    http.once('error', fail);
    http.listen(port, ip, () => {
      http.off('error', fail);
      const address = http.address();
      const actual = typeof address === 'object' && address !== null ? address.port : port;
      const host = ip === '0.0.0.0' || ip === '::' ? 'localhost' : isIPv6(ip) ? `[${ip}]` : ip;
      resolve(`${'setSecureContext' in http ? 'https' : 'http'}://${host}:${actual}`);
    });
  });
}

/** Ends when requests under way are answered; connections that stay open are cut after the grace. */
export async function closeHttp(http: Server, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => http.close(() => resolve()));
  http.closeIdleConnections();
  const timer = setTimeout(() => http.closeAllConnections(), graceMs);
  await closed;
  clearTimeout(timer);
}

type Connections = Map<Socket, IncomingMessage | undefined>;

function boundConnections(
  http: Server,
  event: 'connection' | 'secureConnection',
  open: Connections,
  limit: number,
): void {
  http.on(event, (socket: Socket) => {
    if (open.size >= limit) oldestOf(open)?.destroy();
    open.set(socket, undefined);
    socket.once('close', () => open.delete(socket));
  });
}

/** Bounds the connections whose TLS handshake is not done, which are no connections of HTTP yet. */
function boundHandshakes(http: Server, limit: number): void {
  const waiting = new Map<string, Socket>();
  // The secured socket is another object than the one below it: both have the same other side.
  const peerOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`;
  http.on('connection', (socket: Socket) => {
    if (waiting.size >= limit) waiting.values().next().value?.destroy();
    const peer = peerOf(socket);
    waiting.set(peer, socket);
    socket.once('close', () => {
      if (waiting.get(peer) === socket) waiting.delete(peer);
    });
  });
  http.on('secureConnection', (socket: Socket) => waiting.delete(peerOf(socket)));
}

/** Notes the request under way, and ends the connection when its answer takes too long. */
function watchAnswer(open: Connections, request: IncomingMessage, response: ServerResponse, answerMs: number): void {
  const { socket } = request;
  if (open.has(socket)) open.set(socket, request);
  const late = answerMs === 0 ? undefined : setTimeout(() => socket.destroy(), answerMs).unref();
  response.once('close', () => {
    clearTimeout(late);
    if (!open.delete(socket) || socket.destroyed) return;
    open.set(socket, undefined);
  });
}

/** The oldest connection without a complete request, else the oldest of all. */
function oldestOf(open: Connections): Socket | undefined {
  let first: Socket | undefined;
  for (const [socket, request] of open) {
    if (socket.destroyed) continue;
    if (request?.complete !== true) return socket;
    first ??= socket;
  }
  return first;
}

/** Answers input that is not HTTP, or comes too slowly, with the usual error envelope, and ends the connection. */
function refuseBytes(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, message] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? ([431, 'the head of the request is too long'] as const)
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? ([408, 'the request was not complete in time'] as const)
        : ([400, `this is no HTTP request: ${error.message}`] as const);
  const body = envelopeOf(message);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Connection: close',
    `Content-Type: ${json}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

/** Answers a request that no handler sees, and ends the connection. */
export function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { Connection: 'close', 'Content-Type': json }).end(envelopeOf(message));
}

const json = 'application/json; charset=utf-8';

function envelopeOf(message: string): string {
  return JSON.stringify({ error: 1000, message });
}

/**
 * Certificate and key of a server; undefined when neither is set. Their code is read by servers that have them alone.
 */
export async function tlsOf(files: TlsFiles, where: string, log: TlsLog): Promise<TlsPair | undefined> {
  if (!files.certfile && !files.keyfile) return undefined;
  return (await import('./tls-files.js')).readTls(files, where, log);
}
