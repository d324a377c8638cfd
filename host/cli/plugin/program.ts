/** The program of a project: one that is given rows says lines about them, another one prints rows. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HaumeaError } from '../../base/errors.js';
import type { RunningProgram } from '../../base/structures/piped-program.js';
import type { CommandCode } from '../../plugins/define.js';
import { loadCode } from '../../plugins/index.js';
import type { Call } from '../client/command.js';
import { programOf } from './code.js';
import type { Project } from './project.js';

/** Rows that are shown of a program for which no number is expected. */
const usualRows = 10;
const idleMs = 10;

/** Lines that the program gives; undefined when the project is no program. Rejects with the reason of its failure. */
export async function tryProgram(project: Project, call: Call): Promise<string[] | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'haumea-program-'));
  try {
    const code = programOf(project, folder);
    if (code === undefined) return undefined;
    const rows = join(project.folder, project.test.rows);
    const expected = join(project.folder, project.test.expected);
    if (existsSync(rows)) return await said(code, project, readFileSync(rows));
    return await printed(
      code,
      project,
      existsSync(expected) ? linesIn(readFileSync(expected, 'utf8')) : usualRows,
      call,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What a sink says about its rows until it ends with them. */
async function said(code: CommandCode, { test }: Project, rows: Buffer): Promise<string[]> {
  const lines: string[] = [];
  const running = await start(code, test.args, false, (line) => lines.push(line));
  for (let from = 0; from < rows.length && running.end === undefined; ) {
    from += running.write(rows.subarray(from));
    await pause();
  }
  running.endInput();
  while (running.end === undefined) await pause();
  if (!running.end.isOrderly) throw new HaumeaError('general', running.end.reason);
  return lines;
}

/** The first rows that a source prints. */
async function printed(code: CommandCode, { test }: Project, count: number, call: Call): Promise<string[]> {
  const running = await start(code, test.args, true, (line) => call.io.err(`wasm plugin ${code.name}: ${line}\n`));
  const parts: Uint8Array[] = [];
  const text = () => Buffer.concat(parts).toString();
  while (linesIn(text()) < count && (await running.whenOutput())) parts.push(running.read());
  const lines = text().split('\n').slice(0, count);
  if (linesIn(text()) < count && running.end?.isOrderly === false) {
    throw new HaumeaError('general', running.end.reason);
  }
  running.stop();
  return lines.filter((line) => line !== '');
}

async function start(
  code: CommandCode,
  args: readonly string[] = [],
  hasOutput: boolean,
  log: (line: string) => void,
): Promise<RunningProgram> {
  const { program } = await loadCode(code, { log, fault: () => {} });
  if (program === undefined) throw new Error(`${code.name} is no program`);
  return program.start({ args, hasOutput });
}

function linesIn(text: string): number {
  return text.split('\n').length - 1;
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, idleMs));
}
