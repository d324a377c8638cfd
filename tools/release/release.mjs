/**
 * `npm run release -- FOLDER`: makes what a release consists of, after looking whether it may be one. Nothing is
 * published: docs/releases.md says how that is done.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { root } from '../root.mjs';
import { pruneStale } from './prune.mjs';
import { sbom } from './sbom.mjs';

const run = (program, ...args) => execFileSync(program, args, { cwd: root, encoding: 'utf8' }).trim();
const { name, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** Reasons why this checkout can't be released. */
export function obstacles() {
  const found = [];
  const pages = readFileSync(join(root, 'docs/releases.md'), 'utf8');
  if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)) found.push(`${version} is no semantic version`);
  if (!pages.includes(`\n## ${version}\n`)) found.push(`docs/releases.md has no notes of ${version}`);
  const named = ['examples/deploy/docker/compose.yaml', 'examples/deploy/kubernetes/haumea.yaml'];
  for (const file of named) {
    const text = readFileSync(join(root, file), 'utf8');
    if (!text.includes(`image: ${name}:${version}\n`)) found.push(`${file} names the image of another version`);
  }
  return found;
}

function release(folder) {
  const found = obstacles();
  if (run('git', 'status', '--porcelain') !== '') found.push('there are changes that are not committed');
  if (found.length > 0) throw new Error(`no release of ${version}: ${found.join('; ')}`);
  mkdirSync(folder, { recursive: true });
  const answer = JSON.parse(run('npm', 'pack', '--json', '--ignore-scripts', '--pack-destination', folder));
  const [packed] = Object.values(answer);
  const bill = `${name}-${version}.cdx.json`;
  writeFileSync(join(folder, bill), `${JSON.stringify(sbom(), null, 2)}\n`);
  const sums = [packed.filename, bill].map((file) => {
    return `${createHash('sha256')
      .update(readFileSync(join(folder, file)))
      .digest('hex')}  ${file}\n`;
  });
  writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''));
  console.log(`${packed.filename}: ${packed.size} bytes, ${packed.unpackedSize} unpacked, ${packed.entryCount} files`);
}

if (process.argv[1]?.endsWith('release.mjs')) {
  const [folder] = process.argv.slice(2);
  try {
    if (folder === undefined) throw new Error('usage: npm run release -- FOLDER');
    pruneStale();
    release(resolve(folder));
  } catch (error) {
    console.error(`haumea: ${error.message}`);
    process.exitCode = 1;
  }
}
