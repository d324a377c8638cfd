/** The other side of SP connections: nngcat, as far as the machine has it. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { announceSkip } from '../harness.js';

const children = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

/** Says why the tests with nngcat don't run; in CI that is a failure. */
export function needsNng(what: string): boolean {
  if (spawnSync('nngcat', ['--version']).error === undefined) return true;
  if (process.env.CI === 'true') throw new Error(`${what}: nngcat is not installed`);
  announceSkip(what, 'nngcat is not installed');
  return false;
}

export interface NngPeer {
  /** Messages so far. */
  readonly texts: string[];
  close(): Promise<void>;
  /** It stays connected and does nothing any more, until it goes on. */
  pause(): void;
  resume(): void;
}

/** Listens at the address; `more` are arguments of nngcat, such as what it sends. */
export function openNng(url: string, protocol = '--pair0', more: readonly string[] = []): NngPeer {
  const child = spawn('nngcat', [protocol, '--listen', url, '--quoted', ...more], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  children.add(child);
  const texts: string[] = [];
  let rest = '';
  child.stdout.on('data', (chunk: Buffer) => {
    const lines = (rest + chunk.toString('latin1')).split('\n');
    rest = lines.pop()!;
    texts.push(...lines.map(unquoted));
  });
  return {
    texts,
    close: async () => {
      children.delete(child);
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
  };
}

/** Texts stand in quotes, with escapes as in C. */
function unquoted(line: string): string {
  const inner = line.slice(1, -1).replace(/\\(x[0-9a-f]{2}|.)/gi, (_all, code: string) => {
    if (code.length === 3) return String.fromCharCode(Number.parseInt(code.slice(1), 16));
    return { n: '\n', r: '\r', t: '\t' }[code] ?? code;
  });
  return Buffer.from(inner, 'latin1').toString();
}
