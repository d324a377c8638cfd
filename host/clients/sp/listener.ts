/**
 * Sockets of SP at which others call: a path of the file system, connections that have said hello, and the header by
 * which a request is answered.
 */
import { lstatSync, unlinkSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { reasonOf } from '../../base/errors.js';
import { spErrors } from './errors.js';
import { helloOf, ipcFrame, type SpProtocol, SpReader } from './frames.js';

/** The longest path that a socket may have on all systems, bytes. */
const maxPathBytes = 103;
/** A header ends with the word of four bytes whose first bit is set; no device makes more words than these. */
const maxHeaderWords = 8;

export interface SpUser {
  /** Takes a message, a view that nobody changes; the header is empty but for requests. */
  take(connection: SpConnection, body: Buffer, header: Buffer): void;
  /** The connection is gone. */
  lost(connection: SpConnection, reason: string): void;
}

/** One that has called. */
export class SpConnection {
  constructor(private readonly socket: Socket) {}

  /** Sends a message; false when it should send no more for now. */
  send(body: Buffer, header: Buffer): boolean {
    return this.socket.write(ipcFrame(header, body));
  }

  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  close(): void {
    this.socket.destroy();
  }
}

/** Path of an address `ipc:///path`; throws when a socket can't have it. */
function checkPath(path: string): void {
  const bytes = Buffer.byteLength(path);
  if (bytes > maxPathBytes)
    throw spErrors.connection(`the socket ${path} has a path of ${bytes} bytes, more than ${maxPathBytes}`);
}

export class SpListener {
  readonly #connections = new Set<SpConnection>();

  private constructor(
    readonly path: string,
    private readonly server: Server,
  ) {}

  /**
   * Listens at a path, where the socket of a program that has ended is replaced. Rejects with the reason when another
   * one listens there.
   * @param peer protocol that callers must speak
   */
  static async open(path: string, own: SpProtocol, peer: SpProtocol, user: SpUser): Promise<SpListener> {
    checkPath(path);
    await removeStale(path);
    const server = createServer((socket) => listener.#accept(socket, own, peer, user));
    const listener = new SpListener(path, server);
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error) => reject(spErrors.connection(reasonOf(error), { cause: error })));
      server.listen(path, resolve);
    });
    server.on('error', () => {});
    // Nobody but the account of the server may call.
    await chmod(path, 0o600);
    return listener;
  }

  close(): void {
    this.server.close();
    for (const connection of this.#connections) connection.close();
    this.#connections.clear();
  }

  #accept(socket: Socket, own: SpProtocol, peer: SpProtocol, user: SpUser): void {
    const connection = new SpConnection(socket);
    this.#connections.add(connection);
    const hasHeader = own === 'rep';
    let reason = 'the other side has ended the connection';
    const reader = new SpReader(
      true,
      peer,
      () => {},
      (message) => {
        const end = hasHeader ? headerEnd(message) : 0;
        user.take(connection, message.subarray(end), message.subarray(0, end));
      },
    );
    socket.on('data', (bytes) => {
      try {
        reader.read(bytes);
      } catch (error) {
        socket.destroy(error as Error);
      }
    });
    socket.on('error', (error) => {
      reason = reasonOf(error);
    });
    socket.on('close', () => {
      this.#connections.delete(connection);
      user.lost(connection, reason);
    });
    socket.write(helloOf(own));
  }
}

function headerEnd(message: Buffer): number {
  for (let at = 0; at + 4 <= message.length && at < maxHeaderWords * 4; at += 4) {
    if (message[at]! >= 0x80) return at + 4;
  }
  throw spErrors.connection('a request has no number');
}

/** Removes a socket at which nobody listens any more; throws when another process has it. */
export async function removeStale(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isSocket()) throw spErrors.connection(`${path} is there and is no socket`);
  const answer = await answerOf(path);
  if (answer === 'EACCES') throw spErrors.connection(`the socket ${path} belongs to another account`);
  if (answer !== 'ECONNREFUSED' && answer !== 'ENOENT') {
    throw spErrors.connection(`the socket ${path} is in use: another process listens there`);
  }
  // Meanwhile another engine may have put its own in that place.
  if (lstatSync(path, { throwIfNoEntry: false })?.ino !== found.ino) return;
  try {
    unlinkSync(path);
  } catch (error) {
    throw spErrors.connection(`the stale socket ${path} can't be removed: ${reasonOf(error)}`, { cause: error });
  }
}

/** Code of the error of a connection; undefined when somebody answers. */
function answerOf(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    socket.once('connect', () => {
      socket.destroy();
      resolve(undefined);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code));
  });
}
