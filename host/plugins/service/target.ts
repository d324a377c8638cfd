/** Where a service is: its address is checked each time somebody connects. */
import { connect, type LookupFunction, type Socket } from 'node:net';
import { reasonOf } from '../../base/errors.js';
import { AllowedPaths } from '../../base/files/allowed-paths.js';
import { checkTarget } from '../../base/net/private-net.js';
import type { ServiceCode } from '../service-code.js';

type Named = Pick<
  ServiceCode,
  | 'address'
  | 'allowPrivate'
  | 'isInsecure'
  | 'ca'
  | 'cert'
  | 'key'
  | 'caPath'
  | 'certPath'
  | 'keyPath'
  | 'paths'
  | 'timeoutMs'
>;

const secureSchemes: ReadonlySet<string> = new Set(['https:', 'grpcs:', 'tls:']);
const defaultPorts: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

export class Target {
  readonly host: string;
  readonly port: number;
  readonly isSecure: boolean;
  /** The address as the guard reads it. */
  readonly #url: URL;

  constructor(private readonly named: Named) {
    const { protocol, hostname, port } = new URL(named.address);
    this.isSecure = secureSchemes.has(protocol);
    this.host = hostname.replace(/^\[(.*)\]$/, '$1');
    this.port = Number(port || defaultPorts[protocol]);
    this.#url = new URL(`http://${hostname}:${this.port}`);
  }

  /** Host and port as they stand in requests. */
  get authority(): string {
    return new URL(this.named.address).host;
  }

  /** Connects to an address that was checked; `alpn` is the protocol above TLS. */
  async connect(alpn: string | undefined): Promise<Socket> {
    const addresses = await checkTarget(this.#url, { allowPrivate: this.named.allowPrivate });
    const lookup: LookupFunction = (_host, { all }, done) => {
      const [first] = addresses as readonly [{ address: string; family: number }];
      if (all) done(null, [...addresses]);
      else done(null, first.address, first.family);
    };
    const where = { host: this.host, port: this.port, lookup, noDelay: true };
    const { timeoutMs } = this.named;
    if (!this.isSecure) return connected(connect(where), 'connect', timeoutMs);
    const tls = await import('node:tls');
    const servername = /^[\d.]+$|:/.test(this.host) ? undefined : this.host;
    const socket = tls.connect({
      ...where,
      ...(servername && { servername }),
      ...(await this.#tlsOptions()),
      ...(alpn && { ALPNProtocols: [alpn] }),
    });
    await connected(socket, 'secureConnect', timeoutMs);
    if (alpn !== undefined && socket.alpnProtocol !== alpn) {
      socket.destroy();
      throw new Error(`it does not speak ${alpn} over TLS`);
    }
    return socket;
  }

  /** Files are read each time, so that new certificates count from the next connection on. */
  async #tlsOptions() {
    const { named } = this;
    const [ca, cert, key] = await Promise.all([
      this.#given('rootCaPath', named.caPath, named.ca),
      this.#given('certificationPath', named.certPath, named.cert),
      this.#given('privateKeyPath', named.keyPath, named.key),
    ]);
    return { rejectUnauthorized: !named.isInsecure, ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
  }

  async #given(option: string, path: string, raw: string): Promise<Buffer | undefined> {
    if (raw !== '') return Buffer.from(raw, 'base64');
    if (path === '') return undefined;
    try {
      const file = await new AllowedPaths(this.named.paths).open(path, 'read');
      return await file.readFile().finally(() => file.close());
    } catch (error) {
      throw new Error(`${option}: ${reasonOf(error)}`, { cause: error });
    }
  }
}

function connected<S extends Socket>(socket: S, event: 'connect' | 'secureConnect', timeoutMs: number): Promise<S> {
  return new Promise((resolve, reject) => {
    const late = () => socket.destroy(new Error(`no connection within ${timeoutMs} ms`));
    const timer = setTimeout(late, timeoutMs);
    const fail = (error: Error) => {
      clearTimeout(timer);
      reject(error);
    };
    socket.once('error', fail);
    socket.once(event, () => {
      clearTimeout(timer);
      socket.off('error', fail);
      resolve(socket);
    });
  });
}
