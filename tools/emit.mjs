/** Writes generated files, or with `--check` only tells whether they are current. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from './root.mjs';

const isCheck = process.argv.includes('--check');
const stale = [];

/** Puts the text into the file when it is another one; `path` is relative to the checkout. */
export function emit(path, text) {
  const file = join(root, path);
  const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
  if (before === text) return;
  if (isCheck) {
    stale.push(path);
    return;
  }
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** To be called at the end: names the files that are not current and sets the exit code. */
export function finish() {
  if (stale.length === 0) return;
  console.error(`not current, run "npm run gen": ${stale.join(', ')}`);
  process.exitCode = 1;
}
