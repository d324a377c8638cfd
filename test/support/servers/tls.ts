/** A server that speaks TLS with a certificate that nobody trusts, and then says nothing. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { announceSkip, temporaryFolder } from '../harness.js';

/** Says why the tests with certificates don't run; in CI that is a failure. */
export function needsOpenssl(what: string): boolean {
  if (spawnSync('openssl', ['version']).error === undefined) return true;
  if (process.env.CI === 'true') throw new Error(`${what}: openssl is not installed`);
  announceSkip(what, 'openssl is not installed');
  return false;
}

export interface Certificate {
  readonly key: string;
  readonly cert: string;
  /** The certificate as properties take it. */
  readonly raw: string;
}

/** Makes a certificate for 127.0.0.1 that is its own authority. */
export function selfSigned(): Certificate {
  const folder = temporaryFolder();
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const request = 'req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1';
  const { status, stderr } = spawnSync('openssl', [...request.split(' '), '-keyout', key, '-out', cert]);
  if (status !== 0) throw new Error(`openssl: ${stderr}`);
  const text = readFileSync(cert, 'utf8');
  return { key: readFileSync(key, 'utf8'), cert: text, raw: Buffer.from(text).toString('base64') };
}

/** What comes before TLS: what the server says first, the length of what the client asks, and the answer to that. */
export interface Greeting {
  readonly says?: string | Buffer;
  readonly hears?: number;
  readonly answers?: string;
}

export interface TlsDouble {
  readonly port: number;
  close(): Promise<void>;
}

export async function openTls({ key, cert }: Certificate, greeting: Greeting = {}): Promise<TlsDouble> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    if (greeting.says !== undefined) socket.write(greeting.says);
    begin(socket, greeting, { key, cert });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Begins TLS behind what comes before it; the client may send both at once. */
function begin(
  socket: Socket,
  { hears = 0, answers = '' }: Greeting,
  certificate: { key: string; cert: string },
): void {
  let left = hears;
  const inner = new Duplex({
    read: () => {},
    write: (chunk: Buffer, _encoding, done) => {
      if (socket.writable) socket.write(chunk);
      done();
    },
  });
  socket.on('data', (chunk: Buffer) => {
    const rest = chunk.subarray(left);
    if (left > 0 && chunk.length >= left) socket.write(answers);
    left = Math.max(0, left - chunk.length);
    if (rest.length > 0) inner.push(rest);
  });
  socket.on('close', () => inner.destroy());
  new TLSSocket(inner, { isServer: true, ...certificate }).on('error', () => socket.destroy());
}
