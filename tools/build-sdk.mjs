/** Makes the client of REST for programs: dist/sdk, with its types, which package.json exports as haumea/client. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './root.mjs';

export const sdkFolder = join(root, 'dist/sdk');

/** Returns the files by their paths within the folder. */
export async function sdkFiles() {
  const [code, types] = await Promise.all([bundled(), declarations()]);
  return [['client.js', code], ...types];
}

/** One file without packages, readable: programs bundle it as they want. */
async function bundled() {
  const { build } = await import('esbuild');
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: ['host/sdk/client.ts'],
    bundle: true,
    format: 'esm',
    platform: 'neutral',
    target: 'es2022',
    logLevel: 'warning',
    write: false,
  });
  return Buffer.from(outputFiles[0].contents);
}

/** The declarations, by the compiler. */
async function declarations() {
  const folder = mkdtempSync(join(tmpdir(), 'haumea-sdk-'));
  try {
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const args = [tsc, '-p', join(root, 'host/sdk'), '--outDir', folder];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 2, 2] });
    const [code] = await once(child, 'exit');
    if (code !== 0) throw new Error(`the types of the client could not be made, tsc ended with ${code}`);
    return readdirSync(folder, { recursive: true })
      .filter((name) => name.endsWith('.d.ts'))
      .map((name) => [name, readFileSync(join(folder, name))]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
