/**
 * What is read at start stays small: a server that restarts answers soon, and a data plane that is replaced takes over
 * soon.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';

const dist = fileURLToPath(new URL('../../dist', import.meta.url));

/** The files that a module brings in by its imports, itself included. */
function broughtIn(path: string, known = new Map<string, string>()): Map<string, string> {
  if (known.has(path)) return known;
  const text = readFileSync(path, 'utf8');
  known.set(path, text);
  for (const [, file] of text.matchAll(/(?:from|import)"(\.[^"]+\.mjs)"/g)) {
    broughtIn(join(dirname(path), file as string), known);
  }
  return known;
}

/** The file that one of the others loads by name later. */
function loadedLater(files: ReadonlyMap<string, string>, name: string): string {
  for (const [path, text] of files) {
    const found = new RegExp(`import\\("(\\.[^"]*/${name}-[^"/]+\\.mjs)"\\)`).exec(text);
    if (found) return join(dirname(path), found[1] as string);
  }
  throw new Error(`nothing loads ${name}`);
}

const reads = (files: ReadonlyMap<string, string>, name: string): boolean =>
  [...files.keys()].some((path) => path.endsWith(`/${name}.mjs`));

const bytes = (files: ReadonlyMap<string, string>): number =>
  [...files.values()].reduce((sum, text) => sum + text.length, 0);

test('the server reads less than 1.26 million bytes of code until REST answers', () => {
  const files = broughtIn(join(dist, 'main.mjs'));
  for (const name of ['serve', 'server', 'engine']) broughtIn(loadedLater(files, name), files);
  assert.ok(reads(files, 'start-server'), 'the imports were followed');
  assert.ok(bytes(files) < 1_260_000, `${bytes(files)} bytes`);
});

test('a data plane reads less than 460,000 bytes of code before its first rule', () => {
  const files = broughtIn(join(dist, 'worker.mjs'));
  assert.ok(reads(files, 'start-plane'), 'the imports were followed');
  assert.ok(bytes(files) < 460_000, `${bytes(files)} bytes`);
});

test.run();
