/** The command `haumea`, run in a folder until it ends. */
import { spawn } from 'node:child_process';
import * as assert from 'uvu/assert';
import { haumea, within } from '../harness.js';

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs commands in `folder`, or another one, with more variables of the environment. */
export class Commands {
  constructor(
    private readonly folder: string,
    private readonly env: NodeJS.ProcessEnv = {},
  ) {}

  run(args: string, cwd = this.folder, ...more: string[]): Promise<Ended> {
    const env = { ...process.env, ...this.env };
    const child = spawn(process.execPath, [...haumea, ...args.split(' '), ...more], { cwd, env });
    let [out, err] = ['', ''];
    child.stdout.on('data', (chunk) => (out += chunk));
    child.stderr.on('data', (chunk) => (err += chunk));
    const ended = new Promise<Ended>((resolve) => child.once('close', (code) => resolve({ code, out, err })));
    return within(120_000, `haumea ${args}`, ended);
  }

  /** Fails when the command does. */
  async done(args: string, cwd?: string, ...more: string[]): Promise<Ended> {
    const ended = await this.run(args, cwd, ...more);
    assert.is(ended.code, 0, `haumea ${args}: ${ended.err}`);
    return ended;
  }
}
