/**
 * What is published: the tarball has the program, its documentation and examples and nothing else. It is installed as
 * people install it, and run by a user who owns none of it.
 */
import { spawn, spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, freePort, request, temporaryFolder, within } from '../support/harness.js';
import { asOther, mayChangeUser, otherUser, readableByAll } from '../support/release/other-user.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { staleBuilds, staleFiles }: Record<'staleBuilds' | 'staleFiles', () => string[]> = await import(
  new URL('../../tools/release/prune.mjs', import.meta.url).href
);
const folder = readableByAll(temporaryFolder());
const prefix = join(folder, 'installed');
const program = join(prefix, 'bin/haumea');
/** What the package may weigh: bytes of the tarball, and of its files. */
const most = { packed: 8_000_000, unpacked: 21_000_000 };

interface Packed {
  readonly filename: string;
  readonly files: { readonly path: string; readonly size: number }[];
}

function npm(args: readonly string[], cwd: string): string {
  const { stdout, stderr, status } = spawnSync('npm', args, { cwd, encoding: 'utf8' });
  assert.is(status, 0, `npm ${args[0]}: ${stderr}`);
  return stdout;
}

/** Packs what is built: without scripts nothing is built for it. */
function pack(): Packed {
  const found: unknown = JSON.parse(npm(['pack', '--json', '--ignore-scripts', '--pack-destination', folder], root));
  return (Array.isArray(found) ? found[0] : Object.values(found as object)[0]) as Packed;
}

const packed = pack();
const files = new Set(packed.files.map(({ path }) => path));

test('the tarball has program, documentation and examples, and nothing of the tests', () => {
  for (const path of [
    'README.md',
    'ARCHITECTURE.md',
    'LICENSE',
    'bin/haumea.mjs',
    'dist/haumea.wasm',
    'dist/console/index.html',
    'dist/docs/index.html',
    'dist/docs/sql.html.gz',
    'dist/docs/decisions/0001-structure.html',
    'dist/sdk/client.js',
    'dist/sdk/client.d.ts',
    'dist/sdk/gen/routes.d.ts',
    'docs/operating.md',
    'docs/connectors.md',
    'docs/decisions/0001-structure.md',
    'examples/README.md',
    'examples/rules/plant.json',
    'examples/deploy/systemd/haumea.service',
  ]) {
    assert.ok(files.has(path), `${path} is missing`);
  }
  for (const path of files) {
    assert.match(path, /^(README\.md|ARCHITECTURE\.md|LICENSE|package\.json|(bin|dist|docs|examples)\/.*)$/);
    assert.not.match(path, /\.map$|stamp$|\.made$|\.tmp$/);
  }
});

test('files of earlier builds are known, and those of this one are not among them', () => {
  const old = ['console/chunk-OLD.js', 'docs/assets/old-1.css', 'sdk/gone.d.ts'];
  try {
    for (const path of old) writeFileSync(join(root, 'dist', path), '');
    const stale = staleFiles();
    for (const path of old) assert.ok(stale.includes(path), path);
    for (const path of ['console/index.html', 'docs/sql.html.gz', 'sdk/client.js'])
      assert.not(stale.includes(path), path);
  } finally {
    for (const path of old) rmSync(join(root, 'dist', path));
  }
});

test('it is no larger than it has to be', () => {
  // A build leaves those before it for an hour; what is published is packed without them.
  const stale = staleBuilds();
  const files = new Set(staleFiles().map((name) => `dist/${name}`));
  const isStale = (path: string) => files.has(path) || stale.some((name) => path.startsWith(`dist/${name}/`));
  const own = packed.files.filter(({ path }) => !isStale(path));
  const bytes = own.reduce((sum, { size }) => sum + size, 0);
  assert.ok(bytes <= most.unpacked, `${bytes} bytes unpacked`);
  if (stale.length === 0 && files.size === 0) {
    const { length } = readFileSync(join(folder, packed.filename));
    assert.ok(length <= most.packed, `${length} bytes packed`);
  }
});

test('what README, docs and examples link to is in the tarball', () => {
  for (const page of [...files].filter((path) => /^(README|docs\/[^/]+|examples\/.*)\.md$/.test(path))) {
    const text = readFileSync(join(root, page), 'utf8');
    for (const [, link = ''] of text.matchAll(/\]\((?!https?:|#)([^)#\s]+)[^)]*\)/g)) {
      const path = join(dirname(page), link).replaceAll('\\', '/').replace(/\/$/, '');
      const isThere = files.has(path) || [...files].some((file) => file.startsWith(`${path}/`));
      assert.ok(isThere, `${page} links to ${link}`);
    }
  }
});

/** A folder of the user who runs the program. */
function ownFolder(name: string): string {
  const own = join(folder, name);
  mkdirSync(own);
  if (mayChangeUser) chownSync(own, otherUser, otherUser);
  return own;
}

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

const home = ownFolder('home');

function start(args: readonly string[], env: Record<string, string> = {}) {
  const own = { PATH: process.env.PATH, HOME: home, TMPDIR: home, ...env };
  const child = spawn(program, args, asOther({ cwd: home, env: own, stdio: ['ignore', 'pipe', 'pipe'] }));
  const printed = { out: '', err: '' };
  child.stdout?.on('data', (chunk) => (printed.out += chunk));
  child.stderr?.on('data', (chunk) => (printed.err += chunk));
  const ended = new Promise<Ended>((resolve) => child.once('close', (code) => resolve({ code, ...printed })));
  return { child, printed, ended };
}

/** Runs the installed command until it ends; it must succeed. */
async function run(args: string, env: Record<string, string> = {}): Promise<Ended> {
  const ended = await within(120_000, `haumea ${args}`, start(args.split(' '), env).ended);
  assert.is(ended.code, 0, `haumea ${args}: ${ended.err}`);
  return ended;
}

test('npm installs the tarball without packages for developers', () => {
  const tarball = join(folder, packed.filename);
  const args = ['install', '--global', tarball, '--omit=dev', `--prefix=${prefix}`, '--prefer-offline', '--no-audit'];
  npm([...args, '--no-fund'], folder);
  const packages = readdirSync(join(prefix, 'lib/node_modules/haumea/node_modules'));
  for (const name of ['undici', 'protobufjs']) assert.ok(packages.includes(name), `${name} is installed`);
  // What the build has put into its bundles is not installed a second time, nor is what makes them.
  for (const name of ['koa', 'mqtt', 'sql.js', 'esbuild', 'typescript', 'assemblyscript']) {
    assert.not(packages.includes(name), `${name} is not installed`);
  }
});

test('the installed command serves rules, the console and plugins to another user', async () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  assert.is((await run('--version')).out, `haumea ${version}\n`);
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  const env = {
    HAUMEA_URL: base,
    KUIPER__BASIC__RESTIP: '127.0.0.1',
    KUIPER__BASIC__RESTPORT: String(port),
    KUIPER__SOURCE__HTTPSERVERPORT: String(await freePort()),
  };
  const { child, printed, ended } = start(['serve', '--data', join(home, 'data')], env);
  await eventually('an answer of the server', async () => {
    if (child.exitCode !== null) throw new Error(`the server ended: ${printed.err}`);
    return (await fetch(`${base}/ping`).catch(() => undefined))?.ok || undefined;
  });
  const page = await request(base, 'GET', '/console/');
  assert.is(page.status, 200);
  assert.match(page.type, /^text\/html/);

  await run('plugin new times3 --lang js', env);
  writeFileSync(
    join(home, 'rule.json'),
    JSON.stringify({
      id: 'r',
      sql: 'SELECT times3(temperature, 3) AS t, temperature FROM s',
      actions: [{ file: { path: 'out.txt', interval: 10, checkInterval: 10 } }],
    }),
  );
  const tried = await run('plugin test times3', env);
  assert.match(tried.err, /rows as in expected\.jsonl/);
  await run('plugin push times3', env);
  const sql = 'CREATE STREAM s () WITH (TYPE="simulator", FORMAT="json")';
  assert.is((await request(base, 'POST', '/streams', { sql })).status, 201);
  await run('create rule r -f rule.json', env);
  const file = join(home, 'data/out.txt');
  const [row] = await eventually('rows of the rule', () => {
    const [line] = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
    return line === undefined ? undefined : (JSON.parse(line) as { t: number; temperature: number }[]);
  });
  assert.is(row?.t, (row?.temperature ?? 0) * 3);
  child.kill('SIGTERM');
  assert.is((await within(60_000, 'the end of the server', ended)).code, 0);
});

test('the installed command shows its demonstration', async () => {
  const ports = { KUIPER__BASIC__RESTPORT: String(await freePort()), KUIPER__SOURCE__HTTPSERVERPORT: '0' };
  const { out } = await run('demo --seconds 1 --rate 50', ports);
  assert.match(out, 'haumea demo: 200 vehicles send 50 messages a second over MQTT');
});

test('a program that depends on the package has its client', () => {
  const script = `import { HaumeaClient } from 'haumea/client'; console.log(typeof HaumeaClient);`;
  const packages = join(prefix, 'lib/node_modules');
  const own = join(folder, 'user');
  mkdirSync(join(own, 'node_modules'), { recursive: true });
  spawnSync('ln', ['-s', join(packages, 'haumea'), join(own, 'node_modules/haumea')]);
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd: own,
    encoding: 'utf8',
  });
  assert.is(stdout, 'function\n', stderr);
});

test.run();
