/** A door with TLS before a server without: it demands a certificate of who comes in, if it is told to. */
import { connect, type Socket } from 'node:net';
import { createServer, type Server } from 'node:tls';
import type { Authority, Certified } from '../certificates.js';

export class TlsDoor {
  #server: Server | undefined;
  readonly #sockets = new Set<Socket>();

  /** @param target port of the server behind it */
  constructor(
    readonly port: number,
    private readonly target: () => number,
  ) {}

  async open(own: Certified, trusted: Authority): Promise<void> {
    const conf = { cert: own.cert, key: own.key, ca: trusted.cert, requestCert: true, rejectUnauthorized: true };
    const server = createServer(conf, (outer) => {
      const inner = connect(this.target(), '127.0.0.1');
      for (const socket of [outer, inner]) {
        this.#sockets.add(socket);
        socket.on('error', () => {});
      }
      outer.on('close', () => inner.destroy());
      inner.on('close', () => outer.destroy());
      outer.pipe(inner).pipe(outer);
    });
    server.on('tlsClientError', () => {});
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(this.port, '127.0.0.1', resolve));
  }

  async close(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
    if (server !== undefined) await new Promise<void>((resolve) => server.close(() => resolve()));
  }
}
