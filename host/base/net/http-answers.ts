/**
 * Bounds on answers: a connection has one request answered at a time, however many it sends ahead, and all unread
 * answers share a bound of memory.
 */
import type { RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Hands over a request of a connection when the answer before it has left. Node.js would hand over all that came in one
 * packet at once: a packet of 60 KB asks for 1,500 exports.
 */
export function oneAtATime(handle: RequestListener): RequestListener {
  /** Steps that wait for the answer under way; a connection without one is not in here. */
  const waiting = new WeakMap<Socket, (() => void)[]>();
  return (request, response) => {
    const { socket } = request;
    response.once('close', () => {
      const next = socket.destroyed ? undefined : waiting.get(socket)?.shift();
      if (next === undefined) waiting.delete(socket);
      // Other connections have their turn first.
      else setImmediate(next);
    });
    const before = waiting.get(socket);
    if (before !== undefined) {
      before.push(() => handle(request, response));
      return;
    }
    waiting.set(socket, []);
    handle(request, response);
  };
}

/**
 * Returns what watches an answer that is about to be made: while all unread answers hold more than `limit` bytes, the
 * clients that have left theirs unread longest are cut off.
 */
export function boundUnread(limit: number): (response: ServerResponse) => void {
  const unread = new Map<ServerResponse, number>();
  let total = 0;
  const forget = (response: ServerResponse) => {
    total -= unread.get(response) ?? 0;
    unread.delete(response);
  };
  return (response) => {
    // The whole answer is with the connection now; what the client does not take stays in memory.
    response.once('prefinish', () => {
      const held = response.writableLength;
      if (held === 0) return;
      unread.set(response, held);
      total += held;
      response.once('close', () => forget(response));
      for (const oldest of unread.keys()) {
        if (total <= limit || oldest === response) break;
        forget(oldest);
        oldest.destroy();
      }
    });
  };
}
