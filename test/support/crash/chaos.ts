/** `haumea bench chaos` as tests run it: for some seconds, or with `HAUMEA_CHAOS_KILLS` as long as a release wants. */
import { spawn } from 'node:child_process';
import * as assert from 'uvu/assert';
import type { ChaosResult } from '../../../bench/chaos/run.js';
import { haumea } from '../harness.js';

export const kills = Number(process.env.HAUMEA_CHAOS_KILLS ?? 2);

/** Runs it with one topology; fails when a promise was not kept. */
export async function chaos(
  topology: string,
  qos: number,
  faults: string,
  seed = 1,
  count = kills,
  more: Record<string, string> = {},
): Promise<ChaosResult> {
  const options = { topology, qos, faults, seed, kills: count, duration: `${count * 1.5}s`, rate: 300, ...more };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = spawn(process.execPath, [...haumea, 'bench', 'chaos', '--json', ...args]);
  const texts = ['', ''];
  child.stdout.on('data', (chunk) => (texts[0] += chunk));
  child.stderr.on('data', (chunk) => (texts[1] += chunk));
  const code = await new Promise((resolve) => child.once('close', resolve));
  assert.is(code, 0, texts.join('\n'));
  return (JSON.parse(texts[0]!) as ChaosResult[])[0]!;
}
