/**
 * TLS of connectors against a real other side that demands a certificate of its client: what lets a rule in, what keeps
 * it out with which reason, and that files are read anew. A connector's test says how its other side starts.
 */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Authority, type Certified, makeAuthority } from '../certificates.js';
import { eventually, startServer, type TestServer, temporaryFolder } from '../harness.js';
import { briefEnd } from './faults/site.js';

type Props = Record<string, unknown>;

/** The other side: it has a certificate, and lets those in whose certificate its authority has made. */
export interface SecureSide {
  /** Starts it on its port; `own` is its certificate, `trusted` certifies its clients. */
  start(own: Certified, trusted: Authority): Promise<void>;
  close(): Promise<void>;
  /** Ends what stays there while it is closed. */
  end?(): Promise<void>;
  readonly part: 'source' | 'sink';
  readonly type: string;
  readonly dataSource?: string;
  /** Properties that lead there over TLS. */
  readonly props: Props;
  /** It needs no certificate of its client. */
  readonly takesAnybody?: boolean;
  /** Turns the names of the usual properties into those of the connector. */
  named?(props: Props): Props;
  /** Brings a message for the source. */
  send?(): Promise<unknown>;
  /** Text that must not show, such as a password in the properties. */
  readonly secret?: string;
}

/** What is said of a certificate that nobody trusts, and of one for another host. */
const untrusted = /self-signed|unable to (get|verify)|unknown (ca|authority)/i;
const elsewhere = /does not match|IP: 127\.0\.0\.1|altnames/i;
const refusal = /certificate|handshake|alert|socket|closed|reset|ended|EPIPE|disconnected|network/i;

let numbers = 0;

class Site {
  constructor(
    readonly server: TestServer,
    readonly side: SecureSide,
  ) {}

  get log(): string {
    return this.server.output() + readFileSync(join(this.server.data, 'log/stream.log'), 'utf8');
  }

  async ask(method: string, path: string, body?: unknown) {
    return this.server.request(method, path, body);
  }

  /** Starts a rule with the properties; the answer to its definition, and its id. */
  async begin(props: Props) {
    const id = `t${++numbers}`;
    const { part, type, dataSource = '', named = (all: Props) => all } = this.side;
    const all = { ...this.side.props, ...named(props) };
    if (part === 'sink') {
      const actions = [{ [type]: all }];
      const rule = { id, sql: 'SELECT id FROM ticks', actions, options: briefEnd };
      return { id, answer: await this.ask('POST', '/rules', rule) };
    }
    await this.ask('PUT', `/metadata/sources/${type}/confKeys/${id}`, all);
    const options = `DATASOURCE="${dataSource}", TYPE="${type}", FORMAT="json", CONF_KEY="${id}"`;
    const made = await this.ask('POST', '/streams', { sql: `CREATE STREAM ${id} () WITH (${options})` });
    assert.ok(made.status < 300, made.text);
    const rule = { id, sql: `SELECT * FROM ${id}`, actions: [{ nop: {} }] };
    return { id, answer: await this.ask('POST', '/rules', rule) };
  }

  async status(id: string): Promise<Props> {
    return (await this.ask('GET', `/rules/${id}/status`)).json as Props;
  }

  async figure(id: string, name: string): Promise<unknown> {
    const all = Object.entries(await this.status(id));
    return all.find(([key]) => key.startsWith(this.side.part) && key.endsWith(name))?.[1];
  }

  async isUp(id: string): Promise<void> {
    let last = '';
    await eventually(`the connection of ${this.side.type}`, async () => {
      last = String(await this.figure(id, 'connection_last_disconnected_message'));
      return (await this.figure(id, 'connection_status')) === 1;
    }).catch((error: Error) => {
      throw new Error(`${error.message}: ${last}`);
    });
  }

  /** Data goes through. */
  async flows(id: string): Promise<void> {
    await this.isUp(id);
    await eventually(`a message of ${this.side.type}`, async () => {
      await this.side.send?.();
      return Number(await this.figure(id, 'records_out_total')) > 0;
    });
  }

  /** It is kept out: the reason stands in the status and in the log. */
  async isRefused(id: string, reason: RegExp): Promise<void> {
    let last = '';
    await eventually(`the refusal of ${this.side.type}`, async () => {
      const { message } = await this.status(id);
      last = `${await this.figure(id, 'connection_last_disconnected_message')} ${message ?? ''}`;
      return reason.test(last);
    }).catch((error: Error) => {
      throw new Error(`${error.message}, the status says: ${last}`);
    });
    await eventually('the refusal in the log', () => reason.test(this.log));
  }

  async delete(id: string): Promise<void> {
    assert.is((await this.ask('DELETE', `/rules/${id}`)).status, 200);
  }

  async letsIn(props: Props): Promise<void> {
    const { id, answer } = await this.begin(props);
    assert.is(answer.status, 201, answer.text);
    await this.flows(id);
    await this.delete(id);
    const tried = await this.check(props);
    assert.is(tried.status, 200, tried.text);
  }

  async keepsOut(props: Props, reason: RegExp): Promise<void> {
    const { id, answer } = await this.begin(props);
    assert.is(answer.status, 201, answer.text);
    await this.isRefused(id, reason);
    assert.is.not(await this.figure(id, 'connection_status'), 1);
    await this.delete(id);
    const tried = await this.check(props);
    assert.is(tried.status, 400, tried.text);
    assert.match(tried.text, reason);
  }

  /** Properties whose files can't be used are named, and so is the reason. */
  async refusesBadFiles(client: Certified, other: Certified): Promise<void> {
    const { named = (all: Props) => all } = this.side;
    const leaf = (usual: string) => {
      const [name = '', value] = Object.entries(named({ [usual]: 'x' }))[0] ?? [];
      return typeof value === 'object' ? `${name}.${Object.keys(value as object)[0]}` : name;
    };
    const outside = await this.begin({ rootCaPath: '/etc/hostname' });
    assert.is(outside.answer.status, 400, outside.answer.text);
    assert.ok(outside.answer.text.includes(leaf('rootCaPath')), outside.answer.text);
    assert.match(outside.answer.text, /\/etc\/hostname/);
    const { certFile: certificationPath } = client;
    const garbage = join(temporaryFolder(), 'garbage.pem');
    writeFileSync(garbage, 'no certificate');
    const wrong: [Props, string, RegExp][] = [
      [{ certificationPath, privateKeyPath: other.keyFile }, 'privateKeyPath', /is not the key of the certificate/],
      [{ certificationPath, privateKeyPath: garbage }, 'privateKeyPath', /has no private key in PEM/],
      [{ certificationPath }, 'privateKeyPath', /is required with the certificate/],
      [{ rootCaPath: garbage }, 'rootCaPath', /has no certificate in PEM/],
      [{ rootCaPath: join(temporaryFolder(), 'none.pem') }, 'rootCaPath', /ENOENT|no such file/],
    ];
    for (const [props, property, reason] of wrong) {
      const { id, answer } = await this.begin(props);
      assert.is(answer.status, 201, answer.text);
      const stopped = await eventually('the end of the rule', async () => {
        const { status, message } = await this.status(id);
        return String(status).startsWith('Stopped') ? String(message) : undefined;
      });
      assert.match(stopped, reason);
      assert.ok(stopped.includes(leaf(property)), stopped);
      await this.delete(id);
    }
  }

  /** A file of certificates to trust that is replaced is read with the next connection, again and again. */
  async takesUp(props: Props, trusted: string, plant: Authority): Promise<void> {
    const { id, answer } = await this.begin(props);
    assert.is(answer.status, 201, answer.text);
    await this.flows(id);
    const next = makeAuthority('next');
    await this.side.close();
    writeFileSync(trusted, 'half of a cert');
    await this.side.start(next.server(), plant);
    await this.isRefused(id, /has no certificate in PEM/);
    copyFileSync(next.certFile, trusted);
    await this.isUp(id);
    assert.is((await this.status(id)).status, 'Running');
    await this.side.close();
    copyFileSync(plant.certFile, trusted);
    // A certificate for another host is none.
    await this.side.start(plant.server('elsewhere.example'), plant);
    await this.isRefused(id, elsewhere);
    await this.delete(id);
  }

  async check(props: Props) {
    const { part, type, named = (all: Props) => all } = this.side;
    const body = { ...this.side.props, ...named(props) };
    return this.ask('POST', `/metadata/${part}s/connection/${type}`, body);
  }
}

const base64 = (text: string) => Buffer.from(text).toString('base64');

/** Checks TLS of one direction of a connector. */
export function secureSide(test: Test, name: string, open: () => Promise<SecureSide>): void {
  test(`${name}: TLS with the certificate of a client`, async () => {
    const [plant, stranger] = [makeAuthority('plant'), makeAuthority('stranger')];
    const [client, other] = [plant.client('rules'), stranger.client('nobody')];
    const side = await open();
    await side.start(plant.server(), plant);
    const server = await startServer({ env: { KUIPER__BASIC__CONNECTION__MAXRECONNECTINTERVAL: '300' } });
    const site = new Site(server, side);
    try {
      await site.ask('PUT', '/metadata/sources/simulator/confKeys/ticks', { data: [{ id: 1 }], interval: 20 });
      await site.ask('POST', '/streams', { sql: 'CREATE STREAM ticks () WITH (TYPE="simulator", CONF_KEY="ticks")' });
      const trusted = join(temporaryFolder(), 'trusted.pem');
      copyFileSync(plant.certFile, trusted);
      const files = { certificationPath: client.certFile, privateKeyPath: client.keyFile };
      const raws = { certificationRaw: base64(client.cert), privateKeyRaw: base64(client.key) };
      await site.letsIn({ ...files, rootCaPath: trusted });
      await site.letsIn({ ...raws, rootCARaw: base64(plant.cert) });
      await site.letsIn({ ...files, insecureSkipVerify: true });
      const isChecked = { insecureSkipVerify: false };
      await site.keepsOut({ ...files, ...isChecked, rootCaPath: stranger.certFile }, untrusted);
      if (side.takesAnybody !== true) {
        await site.keepsOut({ ...isChecked, rootCaPath: trusted }, refusal);
        const foreign = { certificationPath: other.certFile, privateKeyPath: other.keyFile };
        await site.keepsOut({ ...isChecked, ...foreign, rootCaPath: trusted }, refusal);
      }
      await site.refusesBadFiles(client, other);
      await site.takesUp({ ...files, ...isChecked, rootCaPath: trusted }, trusted, plant);
      const shown = site.log + (await site.ask('GET', '/connections?forceAll=true')).text;
      for (const key of [client.key, other.key]) {
        assert.not.ok(shown.includes(key.split('\n')[1] as string), 'a private key shows');
        assert.not.ok(shown.includes(base64(key).slice(40, 100)), 'a private key shows');
      }
      if (side.secret !== undefined) assert.not.ok(shown.includes(side.secret), 'a secret shows');
    } finally {
      await server.stop();
      await side.close();
      await side.end?.();
    }
  });
}

/** The usual properties as options of a bus of EdgeX. */
export function edgexNames(all: Props, more: Props = {}): Props {
  const names: Props = {
    certificationPath: 'CertFile',
    privateKeyPath: 'KeyFile',
    rootCaPath: 'CaFile',
    certificationRaw: 'CertPEMBlock',
    privateKeyRaw: 'KeyPEMBlock',
    rootCARaw: 'CaPEMBlock',
    insecureSkipVerify: 'SkipCertVerify',
  };
  const options = Object.entries(all).map(([name, value]) => [
    names[name],
    name.endsWith('Raw') ? Buffer.from(String(value), 'base64').toString() : value,
  ]);
  return { optional: { ...Object.fromEntries(options), ...more } };
}
