/** Runs the script with which a plugin makes itself ready, as `pip install` of what it needs. */
import { spawn } from 'node:child_process';
import { dirname } from 'node:path';
import { environment } from './process.js';

const longestMs = 600_000;
/** What is kept of the output, to tell why it failed. */
const keptBytes = 2000;

/** Resolves when the script has ended well; rejects with the end of its output otherwise. */
export function runScript(path: string, parameters: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const script = spawn('/bin/sh', [path, ...parameters], {
      cwd: dirname(path),
      env: environment(),
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    const keep = (bytes: Buffer) => {
      output = (output + bytes.toString()).slice(-keptBytes);
    };
    script.stdout.on('data', keep);
    script.stderr.on('data', keep);
    const timer = setTimeout(() => {
      if (script.pid !== undefined) process.kill(-script.pid, 'SIGKILL');
    }, longestMs);
    script.on('error', reject);
    script.on('close', (status, signal) => {
      clearTimeout(timer);
      const end = signal === null ? `status ${status}` : `signal ${signal}`;
      if (status === 0) resolve();
      else reject(new Error(`it has ended with ${end}: ${output.trim()}`));
    });
  });
}
