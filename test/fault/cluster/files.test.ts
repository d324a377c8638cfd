/** Uploads, plugins, schemas and services of a cluster: installed at one node, used by all. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { silent } from '../../../host/base/log/log.js';
import { Bucket } from '../../../host/cluster/bucket.js';
import { BucketStore } from '../../../host/cluster/bucket-store.js';
import { SharedFiles } from '../../../host/cluster/files/shared-files.js';
import { SharedUploads } from '../../../host/cluster/files/shared-uploads.js';
import { FileSweep } from '../../../host/cluster/files/sweep.js';
import { encodeName } from '../../../host/cluster/keys.js';
import { ClusterLink } from '../../../host/cluster/link.js';
import { Seal } from '../../../host/cluster/seal.js';
import { ObjectStore } from '../../../host/cluster/state/objects.js';
import { openStore } from '../../../host/meta/journal/journal-store.js';
import { holdsSecret } from '../../../host/services/secrets/holds.js';
import { eventually, type TestServer, temporaryFolder } from '../../support/harness.js';
import { moduleOf } from '../../support/plugins/modules.js';
import { fileUri } from '../../support/rest/given-files.js';
import { writeZip } from '../../support/rest/zip-writer.js';
import { clusterKey, ownerOf, Rows, startNode } from '../../support/servers/cluster.js';
import { managerOf, needsNats, openNats, type TestNats } from '../../support/servers/nats.js';

/** A module whose function `times` gives its argument times a number. */
function times(factor: number): string {
  const code = [0x20, 0, 0x42, factor, 0x7e];
  const bytes = moduleOf({
    types: [{ params: ['i64'], results: ['i64'] }],
    functions: [{ type: 0, export: 'times', code }],
  });
  return Buffer.from(bytes).toString('base64');
}

const linkSettings = (server: string) => ({
  cluster: 'c',
  node: 'n',
  login: { server, username: '', password: '', token: '', nkeySeed: '', credentials: '' },
  tls: undefined,
  leaseTtlMs: 3000,
  replicas: 1,
  key: undefined,
});

if (needsNats('files of a cluster')) {
  let nats: TestNats;
  const nodes = new Map<string, TestServer>();
  const node = (name: string): TestServer => nodes.get(name)!;
  const secret = 'the password is hidden from NATS';
  const large = 'a certificate '.repeat(30_000);

  async function start(name: string, data?: string): Promise<void> {
    nodes.set(name, await startNode(nats, name, {}, data));
  }

  async function done(name: string, method: string, path: string, body?: unknown): Promise<string> {
    const { status, text } = await node(name).request(method, path, body);
    assert.ok(status < 300, `${method} ${path}: ${status} ${text}`);
    return text;
  }

  const uploadAt = (name: string, file: string): string | undefined => {
    const path = join(node(name).data, 'uploads', file);
    return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
  };

  /** Folders of the packages on a node. */
  const packagesAt = (name: string): string[] =>
    ['schemas', 'services', 'plugins/wasm'].flatMap((root) => {
      const path = join(node(name).data, root);
      return existsSync(path) ? readdirSync(path).map((folder) => `${root}/${folder}`) : [];
    });

  const seen = (name: string, path: string): Promise<unknown> =>
    eventually(`${path} at ${name}`, async () => {
      const { status, json } = await node(name).request('GET', path);
      return status === 200 ? (json as unknown) : undefined;
    });

  test.before(async () => {
    nats = await openNats();
    await Promise.all([start('a'), start('b')]);
  });

  test.after(async () => {
    for (const server of nodes.values()) await server.stop('SIGKILL');
    await nats.close();
  });

  test('what one node gets, the other has', async () => {
    await done('a', 'POST', '/config/uploads', { name: 'certs/ca.pem', content: secret });
    await done('b', 'POST', '/config/uploads', { name: 'large.txt', content: large });
    await done('a', 'POST', '/schemas/protobuf', { name: 'items', content: 'message Item { int64 n = 1; }' });
    await done('a', 'POST', '/plugins/wasm', { name: 'maths', bytecode: times(2) });
    const web = { address: 'http://127.0.0.1:1', protocol: 'rest', schemaless: true };
    const content = JSON.stringify({
      interfaces: { web: { ...web, functions: [{ name: 'web', serviceName: 'web' }] } },
    });
    const zip = writeZip([{ name: 'shop.json', content }]);
    await done('b', 'POST', '/services', { name: 'shop', file: fileUri('shop.zip', zip) });
    await eventually('the upload at b', () => uploadAt('b', 'certs/ca.pem') === secret || undefined);
    await eventually('the upload at a', () => uploadAt('a', 'large.txt') === large || undefined);
    await seen('b', '/plugins/wasm/maths');
    await seen('a', '/services/shop');
    const schema = (await seen('b', '/schemas/protobuf/items')) as { file: string };
    assert.match(readFileSync(schema.file, 'utf8'), 'message Item');
    assert.equal(packagesAt('a').sort(), packagesAt('b').sort());
    const uploads = await node('b').request('GET', '/config/uploads');
    assert.equal(
      uploads.json,
      ['certs/ca.pem', 'large.txt'].map((name) => join(node('b').data, 'uploads', name)),
    );
  });

  test('NATS has no file that could be read without the key', async () => {
    const { streams } = await managerOf(nats.client);
    const { state } = await streams.info('OBJ_haumea_files');
    let all = '';
    for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
      const stored = await streams.getMessage('OBJ_haumea_files', { seq }).catch(() => null);
      if (stored !== null) all += Buffer.from(stored.data).toString('latin1');
    }
    assert.ok(all.length > large.length);
    for (const text of [secret, 'a certificate', 'message Item', '\0asm']) assert.not.ok(all.includes(text), text);
  });

  test('a function of a plugin is called wherever the rule runs, also after an update at another node', async () => {
    const rows = Rows.of(nats);
    const stream =
      'CREATE STREAM numbers (n BIGINT) WITH (TYPE="nats", DATASOURCE="in", FORMAT="JSON", CONF_KEY="here")';
    await done('a', 'PUT', '/metadata/sources/nats/confKeys/here', { server: nats.url });
    await done('a', 'POST', '/streams', { sql: stream });
    const got: number[] = [];
    nats.client.subscribe('out', { callback: (_error, message) => void got.push(message.json<{ t: number }>().t) });
    await done('a', 'POST', '/rules', {
      id: 'r',
      sql: "SELECT 'r' AS rule, n, times(n * 0 + 21) AS t FROM numbers",
      actions: [{ nats: { server: nats.url, subject: 'out', sendSingle: true } }],
      options: { forceExitTimeout: '100ms' },
    });
    await rows.until('r');
    const owner = (await ownerOf(node('a'), 'r'))!;
    const other = owner === 'a' ? 'b' : 'a';
    assert.is(got.at(-1), 42);
    await done(other, 'PUT', '/plugins/wasm/maths', { name: 'maths', bytecode: times(3) });
    await eventually('the new function', async () => {
      await rows.until('r');
      return got.at(-1) === 63 || undefined;
    });
    await done('a', 'POST', `/cluster/nodes/${owner}/drain`);
    await eventually('the other node', async () => (await ownerOf(node('a'), 'r')) === other || undefined);
    await rows.until('r');
    assert.is(got.at(-1), 63);
    assert.is(packagesAt('a').filter((path) => path.includes('maths')).length, 1);
  });

  test('a node that joins gets all', async () => {
    await start('c');
    assert.is(uploadAt('c', 'certs/ca.pem'), secret);
    assert.is(uploadAt('c', 'large.txt'), large);
    assert.equal(packagesAt('c').sort(), packagesAt('b').sort());
    await seen('c', '/plugins/wasm/maths');
    await seen('c', '/services/shop');
    await seen('c', '/schemas/protobuf/items');
  });

  test('a node without the key starts without the files, and says so', async () => {
    nodes.set('d', await startNode(nats, 'd', { KUIPER__CLUSTER__KEY: '' }));
    assert.equal(packagesAt('d'), []);
    assert.is(uploadAt('d', 'large.txt'), undefined);
    const log = readFileSync(join(node('d').data, 'log/stream.log'), 'utf8');
    const why = 'are encrypted in NATS, and this node has no key for that: set cluster.key or keyFile';
    for (const name of ['plugin wasm/maths', 'schema protobuf/items', 'the upload large.txt']) {
      assert.match(log, new RegExp(`${name} .*${why}`));
    }
    const refused = await node('d').request('POST', '/config/uploads', { name: 'x', content: 'x' });
    assert.match(refused.text, `the files of x ${why}`);
    await node('d').stop();
  });

  test('files that nothing names are removed from NATS when they are old', async () => {
    const link = await ClusterLink.open(linkSettings(nats.url), silent);
    const objects = await ObjectStore.open(link, 'haumea_files', 1);
    const pieces = async function* () {
      yield Buffer.from('files');
    };
    const named = await objects.names();
    const orphan = encodeName('schemas/gone@01234567');
    const unknown = encodeName('models/new@01234567');
    const lost = '0123456789ABCDEFGHIJKL';
    for (const name of [orphan, unknown, lost]) await objects.write(name, pieces());
    const definitions = await Bucket.open(link, 'haumea_definitions', { replicas: 1 });
    const uploadEntries = await Bucket.open(link, 'haumea_uploads', { replicas: 1 });
    const sweepWith = async (key: Buffer | undefined) => {
      const data = temporaryFolder();
      const files = new SharedFiles(objects, key, data);
      const local = await openStore({ path: join(data, 'db'), log: silent });
      const store = await BucketStore.open({
        ...{ bucket: definitions, seal: new Seal(key), local, files, holdsSecret, log: silent },
      });
      const uploads = await SharedUploads.open({ bucket: uploadEntries, objects, key, data, log: silent });
      return new FileSweep({ objects, store, uploads, hasKey: key !== undefined, log: silent });
    };
    const sweep = await sweepWith(Buffer.from(clusterKey, 'base64'));
    assert.equal(await sweep.sweep(), [], 'they are new');
    const blind = await sweepWith(undefined);
    assert.equal(await blind.sweep(0), [], 'a node without the key does not know what is named');
    assert.equal((await sweep.sweep(0)).sort(), [lost, orphan].sort());
    assert.equal((await objects.names()).sort(), [...named, unknown].sort());
    await objects.remove([unknown]);
    await link.close();
  });

  test('what one node deletes is gone everywhere, also from a node that was away', async () => {
    const { data } = node('c');
    await node('c').stop();
    await done('a', 'DELETE', '/rules/r');
    await done('a', 'DELETE', '/config/uploads/certs%2Fca.pem');
    await done('b', 'DELETE', '/config/uploads/large.txt');
    await done('b', 'DELETE', '/plugins/wasm/maths');
    await done('a', 'DELETE', '/services/shop');
    await done('b', 'DELETE', '/schemas/protobuf/items');
    await start('c', data);
    for (const name of ['a', 'b', 'c']) {
      await eventually(`nothing at ${name}`, () => packagesAt(name).length === 0 || undefined);
      await eventually(`no upload at ${name}`, () => uploadAt(name, 'certs/ca.pem') === undefined || undefined);
      assert.is(uploadAt(name, 'large.txt'), undefined);
    }
    const { streams } = await managerOf(nats.client);
    await eventually('nothing in NATS', async () => {
      return (await streams.info('OBJ_haumea_files')).state.messages === 0 || undefined;
    });
  });
}

test.run();
