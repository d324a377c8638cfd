/** The ways into a module that the page of the interface shows for a manifest, each as it stands there. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { prepare } from '../../../host/plugins/wasm/prepare/prepare.js';
import { announceSkip, temporaryFolder } from '../../support/harness.js';
import { lacks } from '../../support/rest/toolchains.js';

const page = readFileSync(new URL('../../../docs/plugin-abi.md', import.meta.url), 'utf8');
const chapter = page.split('### Putting it into the module')[1]?.split('\n## ')[0] ?? '';
const manifest = { abi: 1, doc: 'numbers', functions: [{ name: 'twice', args: ['bigint'], result: 'bigint' }] };

/** The first block of a language. */
function block(language: string): string {
  const [, text] = new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(chapter) ?? [];
  assert.ok(text !== undefined, `a block in ${language}`);
  return text;
}

function folderWithManifest(): string {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify(manifest));
  return folder;
}

function run(folder: string, command: string, ...args: string[]): void {
  const { status, stderr, error } = spawnSync(command, args, { cwd: folder });
  assert.is(error, undefined);
  assert.is(status, 0, `${command}: ${stderr}`);
}

function isEmbedded(folder: string): void {
  const { manifest: found } = prepare(new Uint8Array(readFileSync(join(folder, 'twice.wasm'))));
  assert.is(found.doc, 'numbers');
  assert.equal(
    found.functions.map(({ name }) => name),
    ['twice'],
  );
}

function inLanguage(language: 'c' | 'rust', build: (folder: string) => void): void {
  const reason = lacks[language]?.();
  if (reason !== undefined) announceSkip(`a manifest in ${language}`, reason);
  else {
    test(`a manifest in ${language}`, () => {
      const folder = folderWithManifest();
      build(folder);
      isEmbedded(folder);
    });
  }
}

inLanguage('c', (folder) => {
  writeFileSync(join(folder, 'twice.c'), block('c'));
  const options = ['--target=wasm32', '-O2', '-nostdlib', '-Wl,--no-entry', '-Wl,--strip-all'];
  run(folder, 'clang', ...options, '-o', 'twice.wasm', 'twice.c');
});

inLanguage('rust', (folder) => {
  writeFileSync(join(folder, 'twice.rs'), block('rust'));
  const options = ['--target', 'wasm32-unknown-unknown', '--crate-type', 'cdylib', '-O', '-C', 'strip=symbols'];
  run(folder, 'rustc', ...options, '-o', 'twice.wasm', 'twice.rs');
});

if (spawnSync('llvm-objcopy', ['--version']).error !== undefined) {
  announceSkip('a manifest by llvm-objcopy', 'llvm-objcopy is not installed');
} else {
  test('a manifest in a module that was built without', () => {
    const folder = folderWithManifest();
    // (module (func (export "twice") (param i64) (result i64) local.get 0 i64.const 2 i64.mul))
    const hex = '0061736d0100000001060160017e017e03020100070901057477696365000' + '00a09010700200042027e0b';
    writeFileSync(join(folder, 'twice.wasm'), Buffer.from(hex, 'hex'));
    run(folder, 'sh', '-e', '-c', block('sh'));
    isEmbedded(folder);
  });
}

test.run();
