/** `haumea plugin new`, `build`, `test` and `push`, from an empty folder to rows of a rule, in each language. */
import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { announceSkip, haumea, startServer, temporaryFolder, within } from '../harness.js';
import { RowsThrough } from './rows-through.js';

const server = await startServer();
test.after(async () => {
  await server.stop();
});
const rule = new RowsThrough(server);
const folder = temporaryFolder();

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function run(args: string, cwd = folder, ...more: string[]): Promise<Ended> {
  const child = spawn(process.execPath, [...haumea, ...args.split(' '), ...more], {
    cwd,
    env: { ...process.env, HAUMEA_URL: server.base },
  });
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk) => (out += chunk));
  child.stderr.on('data', (chunk) => (err += chunk));
  const ended = new Promise<Ended>((resolve) => child.once('close', (code) => resolve({ code, out, err })));
  return within(120_000, `haumea ${args}`, ended);
}

async function done(args: string, cwd?: string, ...more: string[]): Promise<Ended> {
  const ended = await run(args, cwd, ...more);
  assert.is(ended.code, 0, `haumea ${args}: ${ended.err}`);
  return ended;
}

/** Says what a toolchain lacks; undefined when it is there. */
const lacks: Readonly<Record<string, () => string | undefined>> = {
  as: () => undefined,
  js: () => undefined,
  c: () => {
    const linker = spawnSync('wasm-ld', ['--version']);
    return (spawnSync('clang', ['--version']).error ?? linker.error)
      ? 'clang and wasm-ld are not installed'
      : undefined;
  },
  rust: () => {
    const { stdout, error } = spawnSync('rustc', ['--print', 'target-libdir', '--target', 'wasm32-unknown-unknown']);
    const isThere = error === undefined && spawnSync('ls', [stdout.toString().trim()]).stdout.includes('core');
    return isThere ? undefined : 'Rust with the target wasm32-unknown-unknown is not installed';
  },
};

for (const [language, lack] of Object.entries(lacks)) {
  const name = `times_${language}`;
  const reason = lack();
  if (reason !== undefined) {
    announceSkip(`a plugin in ${language}`, reason);
    continue;
  }
  test(`a plugin in ${language} is made, built, tried and used in a rule`, async () => {
    const made = await done(`plugin new ${name} --lang ${language}`);
    assert.match(made.out, /haumea plugin test/);
    const own = join(folder, name);
    const built = await done('plugin build', own);
    assert.ok(built.out.includes(name), built.out);
    const tried = await done('plugin test', own);
    assert.is(tried.out, '{"device":"a","result":41}\n{"device":"b","result":-6}\n{"device":"c"}\n');
    assert.match(tried.err, /3 rows as in expected\.jsonl/);
    await done(`plugin push ${name}`);
    assert.equal(await rule.results(`SELECT ${name}(v, 3) AS r FROM s`, [{ v: 14 }]), [{ r: 42 }]);
    // Once more: it takes the place of the one before.
    await done('plugin push', own);
  });
}

test.run();
