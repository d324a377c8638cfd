/**
 * The recorded REST scenarios, run against a server of ours by the scenarios' own runner. Every answer passes a proxy
 * that holds it against the OpenAPI document.
 *
 * `unsupported.json` names the scenarios that need what is not there yet, with the reason. A listed scenario must
 * really fail: one that passes is an error, so that the list can't go stale.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer, request as requestHttp, type Server } from 'node:http';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openBroker } from '../support/brokers/broker.js';
import { announceSkip, freePort, startServer, within } from '../support/harness.js';
import { answerMisfit, type Json } from '../support/rest/schema-check.js';

const golden = fileURLToPath(new URL('../../../shared/golden/', import.meta.url));
const listFile = fileURLToPath(new URL('./unsupported.json', import.meta.url));
const runTimeoutMs = 280_000;
/** Servers that share the scenarios: most of a run is waiting. */
const parallel = 4;

interface Outcome {
  /** Names `area / scenario`. */
  readonly passed: Set<string>;
  /** The first failure of each scenario. */
  readonly failed: Map<string, string>;
  readonly summary: string;
}

/** What the runner talks to: REST, the event server, a broker. */
interface Addresses {
  readonly base: string;
  readonly sse: string;
  readonly mqtt: string;
}

/** Runs the scenarios and reads the runner's lines. */
async function runScenarios(addresses: Addresses, files: readonly string[]): Promise<Outcome> {
  const given = Object.entries(addresses).flatMap(([name, address]) => [`--${name}`, address]);
  const args = [`${golden}run-rest.py`, ...given, '--verbose', '--allow-stop', ...files];
  const child = spawn('python3', args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  try {
    await within(runTimeoutMs, 'the recorded scenarios', new Promise((resolve) => child.once('close', resolve)));
  } finally {
    child.kill('SIGKILL');
  }
  const outcome = { passed: new Set<string>(), failed: new Map<string, string>(), summary: '' };
  for (const line of output.split('\n')) {
    const ok = /^ok {3}(.+) \(\d+ steps\)$/.exec(line);
    const bad = /^FAIL (.+?) \/ step \d+ /.exec(line);
    if (ok) outcome.passed.add(ok[1] as string);
    else if (bad && !outcome.failed.has(bad[1] as string)) outcome.failed.set(bad[1] as string, line);
    else if (/^\d+ passed, \d+ failed/.test(line)) outcome.summary = line;
  }
  if (outcome.summary === '') throw new Error(`the runner gave no summary:\n${output.slice(-2000)}`);
  return outcome;
}

/** Passes requests on to the server and notes answers that the document does not describe. */
async function startProxy(target: string, document: Json, wrong: Set<string>): Promise<{ base: string; http: Server }> {
  const http = createServer((asked, answer) => {
    const { method = 'GET', url: path = '/', headers } = asked;
    const upstream = requestHttp(target + path, { method, headers, agent: false }, (reply) => {
      const chunks: Buffer[] = [];
      reply.on('data', (chunk: Buffer) => chunks.push(chunk));
      reply.on('end', () => {
        const body = Buffer.concat(chunks);
        const { statusCode: status = 0, headers } = reply;
        const type = headers['content-type'] ?? '';
        const json = type.startsWith('application/json') ? JSON.parse(body.toString()) : undefined;
        const reason = answerMisfit(document, { method, path }, { status, type, json });
        if (reason !== undefined) wrong.add(reason);
        answer.writeHead(status, headers).end(body);
      });
    });
    upstream.on('error', () => answer.destroy());
    asked.pipe(upstream);
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const { port } = http.address() as { port: number };
  return { base: `http://127.0.0.1:${port}`, http };
}

/** The files of scenarios in shares of about the same size. */
function shares(): string[][] {
  const folder = `${golden}rest/`;
  const files = readdirSync(folder).filter((name) => name.endsWith('.json'));
  const sized = files.map((name) => ({ path: folder + name, size: statSync(folder + name).size }));
  const all = Array.from({ length: parallel }, () => ({ paths: [] as string[], size: 0 }));
  for (const { path, size } of sized.sort((a, b) => b.size - a.size)) {
    const smallest = all.reduce((a, b) => (b.size < a.size ? b : a));
    smallest.paths.push(path);
    smallest.size += size;
  }
  return all.map(({ paths }) => paths);
}

/** Runs files of scenarios against a server of their own. */
async function runShare(files: readonly string[], mqtt: string, undescribed: Set<string>): Promise<Outcome> {
  const eventPort = await freePort();
  const server = await startServer({
    env: {
      TZ: 'UTC',
      KUIPER__BASIC__ENABLEPRIVATENET: 'true',
      KUIPER__BASIC__ALLOWEDPATHS: `${golden}rest/fixtures`,
      KUIPER__BASIC__RESOURCEPROFILECONFIG__ENABLE: 'true',
      KUIPER__SOURCE__HTTPSERVERPORT: String(eventPort),
    },
  });
  const document = (await server.request('GET', '/openapi.json')).json;
  const proxy = await startProxy(server.base, document, undescribed);
  const outcome = await runScenarios({ base: proxy.base, sse: `http://127.0.0.1:${eventPort}`, mqtt }, files);
  proxy.http.closeAllConnections();
  proxy.http.close();
  await server.stop('SIGKILL');
  return outcome;
}

const missing = !existsSync(golden)
  ? 'the recorded scenarios are not beside this checkout'
  : spawnSync('python3', ['--version']).status !== 0
    ? 'python3 is not installed'
    : '';

if (missing !== '') {
  announceSkip('recorded REST scenarios', missing);
} else {
  test('recorded REST scenarios pass and fit the OpenAPI document, but for those listed as unsupported', async () => {
    const { scenarios } = JSON.parse(readFileSync(listFile, 'utf8')) as {
      scenarios: { name: string; reason: string }[];
    };
    const undescribed = new Set<string>();
    const broker = await openBroker();
    const outcomes = await Promise.all(shares().map((files) => runShare(files, broker.url, undescribed)));
    await broker.close();
    const passed = new Set(outcomes.flatMap((outcome) => [...outcome.passed]));
    const failed = new Map(outcomes.flatMap((outcome) => [...outcome.failed]));
    const listed = new Map(scenarios.map(({ name, reason }) => [name, reason]));
    const wrong = [...failed].filter(([name]) => !listed.has(name)).map(([, line]) => line);
    for (const name of listed.keys()) {
      if (passed.has(name)) wrong.push(`${name} passes but is listed as unsupported`);
      else if (!failed.has(name)) wrong.push(`${name} is listed but was not run`);
    }
    console.log(`${passed.size} scenarios passed, ${failed.size} failed, ${listed.size} of these unsupported by name`);
    assert.equal(wrong, []);
    assert.equal([...undescribed], []);
  });
}

test.run();
