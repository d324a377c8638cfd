/**
 * The process of a plugin. A shell stands between: it tells the number of the plugin, waits for its end, and ends the
 * whole group when the engine is gone, by whatever end. So nothing is left of a plugin, its own children included.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Readable } from 'node:stream';
import { reasonOf } from '../../base/errors.js';
import type { PortableCode } from './code.js';

/** File descriptor 0 is open as long as the engine lives, 3 takes what the shell tells. */
const guard = `
exec 4<&0 </dev/null
"$@" 3>&- 4<&- &
child=$!
echo "pid $child" >&3
( exec >/dev/null 2>&1 3>&-; read -r _ <&4; kill -KILL 0 ) &
wait "$child" 2>/dev/null
echo "exit $?" >&3
kill -KILL 0
`;

/** What a plugin gets of the environment of the server: nothing that may be a secret. */
const passed = /^(PATH|HOME|USER|LANG|LC_\w+|TZ|TMPDIR|PYTHONPATH|PYTHONHOME|VIRTUAL_ENV|CONDA_\w+|LD_LIBRARY_PATH)$/;
/** Longest line of output, bytes. */
const maxLine = 2000;
/** Output that is read in a second; a plugin that writes more has to wait. */
const maxOutputBytes = 4 << 20;
const statusBegin = 'it has ended with status';
const memoryCheckMs = 500;
/** What a plugin gets to end by itself, ms. */
const endMs = 1000;
const pageBytes = 4096;

export interface ProcessHost {
  /** Takes a line of output. */
  log(line: string): void;
  /** The process is gone, for the reason given. */
  ended(reason: string): void;
}

export class PluginProcess {
  pid: number | undefined;
  readonly #shell: ChildProcess;
  /** Last line that it has printed as an error: what Python ends with tells why. */
  #lastComplaint = '';
  #reason = '';
  #isOver = false;
  #readBytes = 0;
  readonly #paused: Readable[] = [];
  readonly #timers: NodeJS.Timeout[] = [];

  constructor(
    private readonly code: PortableCode,
    private readonly host: ProcessHost,
  ) {
    const [command, ...args] = commandOf(code);
    this.#shell = spawn('/bin/sh', ['-c', guard, 'sh', command!, ...args], {
      cwd: code.folder,
      env: environment(),
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    });
    const shell = this.#shell;
    shell.on('error', (error) => this.#end(`it does not start: ${reasonOf(error)}`));
    shell.on('close', () => this.#end('it has ended'));
    shell.stdin?.on('error', () => {});
    this.#readLines(shell.stdout!, (line) => this.host.log(line));
    this.#readLines(shell.stderr!, (line) => this.#complain(line));
    this.#readLines(shell.stdio[3] as Readable, (line) => this.#told(line));
    this.#timers.push(
      setInterval(() => this.#checkMemory(), memoryCheckMs),
      setInterval(() => this.#readOn(), 1000),
    );
    for (const timer of this.#timers) timer.unref();
  }

  /** Ends it; the reason is told to the host. */
  kill(reason: string): void {
    if (this.#isOver) return;
    this.#reason ||= reason;
    this.#signalGroup();
  }

  /** Asks it to end, and ends it if it does not. */
  async stop(reason: string): Promise<void> {
    if (this.#isOver) return;
    this.#reason ||= reason;
    const over = new Promise<void>((resolve) => this.#shell.once('close', () => resolve()));
    const timer = setTimeout(() => this.#signalGroup(), endMs);
    try {
      if (this.pid === undefined) this.#signalGroup();
      else process.kill(this.pid, 'SIGTERM');
    } catch {
      this.#signalGroup();
    }
    await over;
    clearTimeout(timer);
  }

  #signalGroup(): void {
    const { pid } = this.#shell;
    if (pid === undefined) return;
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // The group is gone.
    }
  }

  /** Takes a line of the shell. */
  #told(line: string): void {
    const [word, number] = line.split(' ');
    if (word === 'pid') this.pid = Number(number);
    else if (word === 'exit') this.#reason ||= exitReason(Number(number));
  }

  #complain(line: string): void {
    if (line.trim() !== '') this.#lastComplaint = line.trim();
    this.host.log(line);
  }

  #end(reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const timer of this.#timers) clearInterval(timer);
    const hasFailed = this.#reason.startsWith(statusBegin) && this.#lastComplaint !== '';
    this.host.ended(hasFailed ? `${this.#reason}: ${this.#lastComplaint}` : this.#reason || reason);
  }

  #readLines(stream: Readable, take: (line: string) => void): void {
    let rest = '';
    stream.setEncoding('utf8');
    stream.on('error', () => {});
    stream.on('data', (text: string) => {
      this.#readBytes += text.length;
      if (this.#readBytes > maxOutputBytes) {
        stream.pause();
        this.#paused.push(stream);
      }
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > maxLine) rest = rest.slice(0, maxLine);
      for (const line of lines) take(line.slice(0, maxLine));
    });
    stream.on('end', () => {
      if (rest !== '') take(rest);
    });
  }

  #readOn(): void {
    this.#readBytes = 0;
    for (const stream of this.#paused.splice(0)) stream.resume();
  }

  /** Where the system tells no memory, there is no bound. */
  #checkMemory(): void {
    const bytes = this.pid === undefined ? undefined : residentBytes(this.pid);
    const { memoryBytes } = this.code.limits;
    if (bytes !== undefined && bytes > memoryBytes) {
      this.kill(`it took ${bytes} bytes of memory, more than portable.maxMemoryBytes (${memoryBytes})`);
    }
  }
}

function commandOf({ language, executable, condaEnv, limits }: PortableCode): string[] {
  // The SDKs read it, and need no more.
  const settings = JSON.stringify({ sendTimeout: limits.sendMs });
  if (language === 'go') return [executable, settings];
  const python = limits.pythonBin === 'python' && !isOnPath('python') ? 'python3' : limits.pythonBin;
  const command = [python, '-u', executable, settings];
  return condaEnv === '' ? command : ['conda', 'run', '--no-capture-output', '-n', condaEnv, ...command];
}

function isOnPath(program: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

export function environment(): Record<string, string> {
  const given = Object.entries(process.env).filter(([name, value]) => value !== undefined && passed.test(name));
  return { ...(Object.fromEntries(given) as Record<string, string>), PYTHONUNBUFFERED: '1' };
}

function residentBytes(pid: number): number | undefined {
  try {
    const pages = Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]);
    return Number.isFinite(pages) ? pages * pageBytes : undefined;
  } catch {
    return undefined;
  }
}

function exitReason(status: number): string {
  if (status === 127) return 'its program is not found';
  if (status === 126) return 'its program can not be executed';
  return status > 128 ? `it was ended by signal ${status - 128}` : `${statusBegin} ${status}`;
}
