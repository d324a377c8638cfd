/**
 * The image of a container. No machine of the tests builds images: the steps of the Dockerfile are run as a script,
 * with packages and build of the checkout (`node tools/release/dockerfile.mjs FOLDER` runs all of them). The server is
 * then started as the image says: by a user who may write nothing but the data folder.
 */
import { spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parse } from 'yaml';
import { eventually, freePort, request, temporaryFolder, within } from '../support/harness.js';
import { asOther, mayChangeUser, otherUser, readableByAll } from '../support/release/other-user.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const docker = join(root, 'examples/deploy/docker');

interface Stage {
  readonly folder: string;
  readonly base: string;
  readonly user: string;
  readonly volume: string;
  readonly env: Record<string, string>;
  readonly entrypoint: string[];
  readonly cmd: string[];
  readonly healthcheck: string[];
  localized(command: string): string;
}

const { buildImage, bytesOf, ignored, instructionsOf } = (await import(
  new URL('../../tools/release/dockerfile.mjs', import.meta.url).href
)) as {
  buildImage(folder: string, options: { reuse: boolean }): Stage;
  bytesOf(folder: string): number;
  ignored(path: string, patterns: readonly string[]): boolean;
  instructionsOf(text: string): [name: string, rest: string][];
};

/** Bytes of the base image, from the installed sizes of the Debian packages in it: libc, OpenSSL, libstdc++, tzdata. */
const baseBytes = 26_000_000;
/** Node.js 22, which the image has, is larger than Node.js 20. */
const newerNodeBytes = 21_000_000;
const mostBytes = 195_000_000;

const image = buildImage(readableByAll(temporaryFolder()), { reuse: true });
const port = await freePort();
const env: Record<string, string> = {
  ...image.env,
  KUIPER__BASIC__RESTIP: '127.0.0.1',
  KUIPER__BASIC__RESTPORT: String(port),
  KUIPER__SOURCE__HTTPSERVERPORT: String(await freePort()),
};

/** A command of the image as one of this machine: with its paths below the folder of the image. */
function command(words: readonly string[]): [program: string, args: string[]] {
  const [program = '', ...args] = words.map((word) => (word.startsWith('/') ? join(image.folder, word) : word));
  return [program, args];
}

/** Files of the checkout that pages of a folder link to, outside of it. */
function linkedOutside(folder: string): string[] {
  const pages = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.md'),
  );
  return pages.flatMap((page) => {
    const text = readFileSync(join(root, folder, page), 'utf8');
    const links = [...text.matchAll(/\]\((\.\.?\/[^)#\s]+)/g)].map(([, link = '']) =>
      join(folder, dirname(page), link),
    );
    return links.filter((path) => !path.startsWith(`${folder}/`));
  });
}

function isHealthy(): boolean {
  const [program, args] = command(image.healthcheck);
  return spawnSync(program, args, asOther({ env }) as object).status === 0;
}

/** Files below a folder that the user of the image owns. */
function owned(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => statSync(join(folder, name), { throwIfNoEntry: false })?.uid === otherUser);
}

test('the image runs as no root, says how it is asked for its health, and keeps its data on a volume', () => {
  assert.is(image.user, `${otherUser}:${otherUser}`);
  assert.is(image.volume, '/data');
  assert.is(image.env.NODE_ENV, 'production');
  const names = instructionsOf(readFileSync(join(docker, 'Dockerfile'), 'utf8')).map(([name]) => name);
  assert.is(names.filter((name) => name === 'FROM').length, 2);
  assert.equal(names.slice(-3), ['HEALTHCHECK', 'ENTRYPOINT', 'CMD']);
});

test('what the build reads is not left out, what it need not read is', () => {
  const patterns = readFileSync(join(root, '.dockerignore'), 'utf8').split('\n');
  const isLeftOut = (path: string) => ignored(path, patterns);
  for (const path of [
    'host/main.ts',
    'tools/setup.mjs',
    'assembly/index.ts',
    'docs/sql.md',
    'test/support/harness.ts',
    // The build of the guide fails at a link that leads nowhere.
    ...linkedOutside('docs'),
  ]) {
    assert.not(isLeftOut(path), path);
  }
  for (const path of [
    '.git/HEAD',
    'node_modules/koa/package.json',
    'dist/main.mjs',
    'test/run.ts',
    'x/y.log',
    'test/sql/cases.test.ts',
  ]) {
    assert.ok(isLeftOut(path), path);
  }
});

test('it has less than 195 MB by the sum of its parts', () => {
  const sum = bytesOf(image.folder) + baseBytes + newerNodeBytes;
  console.log(`the image has ${(sum / 1e6).toFixed(0)} MB`);
  assert.ok(sum < mostBytes, `${sum} bytes`);
});

test('the server of the image works where it may write its data and nothing else', async () => {
  const [program, args] = command([...image.entrypoint, ...image.cmd]);
  const nowhere = join(image.folder, 'app');
  const child = spawn(
    program,
    args,
    asOther({ cwd: join(image.folder, 'data'), env: { ...env, HOME: nowhere, TMPDIR: nowhere }, stdio: 'pipe' }),
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk));
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  assert.not(isHealthy());
  await eventually('an answer to the health check', () => {
    if (child.exitCode !== null) throw new Error(`the server ended: ${output}`);
    return isHealthy();
  });
  const base = `http://127.0.0.1:${port}`;
  const sql = 'CREATE STREAM s () WITH (TYPE="simulator", FORMAT="json")';
  assert.is((await request(base, 'POST', '/streams', { sql })).status, 201);
  const rule = {
    id: 'r',
    sql: 'SELECT count(*) AS n FROM s GROUP BY COUNTWINDOW(2)',
    actions: [{ file: { path: 'out.txt', interval: 10, checkInterval: 10 } }],
    options: { qos: 1, checkpointInterval: 50 },
  };
  assert.is((await request(base, 'POST', '/rules', rule)).status, 201);
  const file = join(image.folder, 'data/out.txt');
  await eventually('rows of the rule', () => /"n":2/.test(readText(file)));
  // Native packages of the image, and those whose files were thinned out, load.
  const packages = ['zeromq', 'sharp', 'node-sqlite3-wasm', 'protobufjs', 'undici'];
  const script = packages.map((name) => `require('${name}')`).join(';');
  const loaded = spawnSync(program, ['-e', script], { cwd: nowhere, encoding: 'utf8' });
  assert.is(loaded.status, 0, loaded.stderr);
  child.kill('SIGTERM');
  assert.is(await within(60_000, 'the end of the server', ended), 0);
  assert.not.match(output, /EACCES|EROFS|permission denied/i);
  if (mayChangeUser) {
    assert.ok(owned(join(image.folder, 'data')).includes('out.txt'));
    assert.equal(owned(join(image.folder, 'app')), []);
    assert.equal(owned(join(image.folder, 'usr')), []);
  }
});

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

test('the compose file names files that are there, and runs nothing as root of its container', () => {
  const { services, volumes } = parse(readFileSync(join(docker, 'compose.yaml'), 'utf8'), { merge: true }) as {
    services: Record<string, Record<string, unknown>>;
    volumes: Record<string, unknown>;
  };
  assert.equal(Object.keys(services).sort(), ['grafana', 'haumea', 'mosquitto', 'prometheus']);
  for (const [name, service] of Object.entries(services)) {
    assert.is(service.read_only, true, name);
    assert.equal(service.cap_drop, ['ALL'], name);
    for (const mount of service.volumes as string[]) {
      const [source = ''] = mount.split(':');
      if (source.startsWith('.')) assert.ok(statSync(join(docker, source)), source);
      else assert.ok(source in volumes, source);
    }
    // A port without an address is open to the network.
    for (const published of service.ports as string[]) assert.match(published, /^127\.0\.0\.1:\d+:\d+$/);
  }
  const { dockerfile = '', context = '' } = (services.haumea?.build ?? {}) as Record<string, string>;
  assert.ok(statSync(join(docker, context, dockerfile)));
});

test.run();
