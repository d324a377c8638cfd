/** Opens a websocket, and finds out when the other side is gone without a word. */
import { WebSocket } from 'ws';
import { reasonOf } from '../../base/errors.js';
import type { AllowedPaths } from '../../base/files/allowed-paths.js';
import { tlsOptions } from '../tls-options.js';
import type { ConnectionConf } from './connection.js';
import { websocketErrors } from './errors.js';

/** Longest message. */
const maxPayload = 16 << 20;
const handshakeTimeout = 10_000;
/** The other side is asked so often whether it is there, ms; it answers before the next question. */
const askEveryMs = 30_000;
const goingAway = 1001;

/** Resolves with an open one; rejects with the reason of the failure. */
export async function openSocket(conf: ConnectionConf, endpoint: string, paths: AllowedPaths): Promise<WebSocket> {
  const tls = conf.scheme === 'wss' ? await tlsOptions('websocket', conf, paths) : {};
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => reject(websocketErrors.connection(reasonOf(error), { cause: error }));
    try {
      const headers = conf.requestHeader as Record<string, string | string[]>;
      const socket = new WebSocket(addressOf(conf, endpoint), { ...tls, headers, maxPayload, handshakeTimeout });
      socket.once('error', fail);
      socket.once('open', () => {
        socket.off('error', fail);
        resolve(socket);
      });
    } catch (error) {
      fail(error);
    }
  });
}

/** Calls `lost` once, with the reason, when the connection ends. */
export function watch(socket: WebSocket, lost: (reason: string) => void): void {
  let reason = '';
  let isThere = true;
  const timer = setInterval(() => {
    if (!isThere && !socket.isPaused) {
      reason = 'the other side does not answer';
      socket.terminate();
      return;
    }
    isThere = false;
    socket.ping();
  }, askEveryMs).unref();
  socket.on('pong', () => {
    isThere = true;
  });
  socket.on('error', (error) => {
    reason = reasonOf(error);
  });
  socket.on('close', (code, text) => {
    clearInterval(timer);
    const said = text.length > 0 ? `, ${text.toString()}` : '';
    lost(reason === '' ? `the other side has ended the connection, code ${code}${said}` : reason);
  });
}

/** Ends it; one that does not answer in time is cut off. */
export function endSocket(socket: WebSocket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.readyState === WebSocket.CLOSED) return resolve();
    const timer = setTimeout(() => socket.terminate(), 500);
    socket.once('close', () => {
      clearTimeout(timer);
      resolve();
    });
    if (socket.isPaused) socket.resume();
    socket.close(goingAway);
  });
}

function addressOf({ scheme, addr, path }: ConnectionConf, endpoint: string): string {
  const given = path === '' ? endpoint : path;
  return `${scheme || 'ws'}://${addr}${given === '' || given.startsWith('/') ? given : `/${given}`}`;
}
