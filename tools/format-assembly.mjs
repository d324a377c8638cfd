/**
 * Formats the kernel: `node tools/format-assembly.mjs`, with `--check` it names the files that are not formatted.
 * AssemblyScript decorates functions, which the formatter's grammar does not know: decorators go through it as
 * comments.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { root } from './root.mjs';

const folder = join(root, 'assembly');
const isCheck = process.argv.includes('--check');
const decorators = /^([ \t]*)@((?:inline|lazy|global|external|operator|unsafe)\b(?:\([^)\n]*\))?)([ \t]*)(?=\S|$)/gm;
const comments = /\/\*@(\w+(?:\([^)\n]*\))?)@\*\//g;

const hide = (text) => text.replace(decorators, (_all, indent, name, space) => `${indent}/*@${name}@*/${space}`);
const show = (text) => text.replace(comments, '@$1');

const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
  (name) => name.endsWith('.ts') && !/(^|[\\/])gen[\\/]/.test(name),
);
const copy = mkdtempSync(join(tmpdir(), 'haumea-format-'));
try {
  const { formatter, javascript } = JSON.parse(readFileSync(join(root, 'biome.json'), 'utf8'));
  writeFileSync(join(copy, 'biome.json'), JSON.stringify({ formatter, javascript, linter: { enabled: false } }));
  for (const file of files) {
    mkdirSync(dirname(join(copy, file)), { recursive: true });
    writeFileSync(join(copy, file), hide(readFileSync(join(folder, file), 'utf8')));
  }
  const biome = join(root, 'node_modules/@biomejs/biome/bin/biome');
  const run = spawnSync(process.execPath, [biome, 'format', '--write', `--config-path=${copy}`, copy], {
    encoding: 'utf8',
  });
  if (run.status !== 0) throw new Error(`the formatter does not take the kernel:\n${run.stdout}${run.stderr}`);
  const changed = files.filter((file) => {
    const formatted = show(readFileSync(join(copy, file), 'utf8'));
    if (formatted === readFileSync(join(folder, file), 'utf8')) return false;
    if (!isCheck) writeFileSync(join(folder, file), formatted);
    return true;
  });
  for (const file of changed) console.log(`${isCheck ? 'not formatted' : 'formatted'}: assembly/${file}`);
  process.exitCode = isCheck && changed.length > 0 ? 1 : 0;
} finally {
  rmSync(copy, { recursive: true, force: true });
}
