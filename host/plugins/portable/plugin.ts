/**
 * A plugin at work: its process, started when somebody needs it and started again with a growing pause after each end,
 * and the channel by which it is told what to run.
 */
import { reasonOf } from '../../base/errors.js';
import { CallChannel } from './calls.js';
import { type PortableCode, type PortableState, portableNoun } from './code.js';
import { FunctionChannel, type FunctionOwner, type FunctionPart } from './functions.js';
import { PluginProcess } from './process.js';

/** Pauses between an end and the next start, ms. */
const firstPauseMs = 100;
const longestPauseMs = 30_000;
/** A plugin that has run for so long has not failed at its start. */
const stableMs = 60_000;
/** Who needs the plugin waits so long for the next start, and fails when that is further away. */
const patienceMs = 2000;
/** The end of a process is noticed so much later than that of its sockets, ms. */
const noticeMs = 1000;
/** Longest wait for a source or sink to end. */
const stopMs = 1000;
/** A plugin that nobody uses runs on for so long. */
const idleMs = 60_000;

/** What runs within a plugin besides functions. */
export interface PluginPart {
  readonly symbolName: string;
  readonly pluginType: 'source' | 'sink';
  readonly meta: { readonly ruleId: string; readonly opId: string; readonly instanceId: number };
  readonly dataSource?: string;
  readonly config?: Readonly<Record<string, unknown>>;
}

export interface PluginHost {
  /** Takes a line of the plugin's output. */
  print(line: string): void;
  warn(line: string): void;
}

export class PortablePlugin implements FunctionOwner {
  readonly title: string;
  #control: CallChannel | undefined;
  #process: PluginProcess | undefined;
  #running: Promise<void> | undefined;
  #startedAt = 0;
  #failures = 0;
  #nextStart = 0;
  #starts = 0;
  #status: PortableState['status'] = 'stop';
  #reason = '';
  #users = 0;
  #idle: NodeJS.Timeout | undefined;
  #isRemoved = false;
  /** The process is being ended; the next one waits for that. */
  #ending: Promise<void> | undefined;
  /** Those who want to hear when the process is gone. */
  readonly #losers = new Set<(reason: string) => void>();
  readonly #functions = new Map<string, FunctionChannel>();

  constructor(
    public code: PortableCode,
    private readonly host: PluginHost,
  ) {
    this.title = `${portableNoun} ${code.name}`;
  }

  get state(): PortableState {
    const pid = this.#process?.pid;
    return {
      status: this.#status,
      errMsg: this.#reason || this.#troubleOfFunctions(),
      restarts: Math.max(0, this.#starts - 1),
      ...(pid === undefined ? {} : { pid }),
    };
  }

  /** Somebody uses the plugin, until `leave`. */
  use(): void {
    this.#users++;
    clearTimeout(this.#idle);
  }

  get isUsed(): boolean {
    return this.#users > 0;
  }

  /** It was deleted, and no other has been installed under its name. */
  get isRemoved(): boolean {
    return this.#isRemoved;
  }

  leave(): void {
    if (--this.#users > 0) return;
    this.#idle = setTimeout(() => void this.#end('', 'stop'), idleMs).unref();
  }

  /** Calls back once when the process is gone; returns what takes that back. */
  onLost(lost: (reason: string) => void): () => void {
    this.#losers.add(lost);
    return () => void this.#losers.delete(lost);
  }

  /** Number of starts so far. */
  get starts(): number {
    return this.#starts;
  }

  /** Whether the process of a start is gone, or is noticed to be before long. */
  async isGone(start: number): Promise<boolean> {
    if (this.#starts !== start || this.#status !== 'running' || this.#process === undefined) return true;
    return (await this.lossReason()) !== undefined;
  }

  /** Why the process has ended; undefined when it does not end within the time in which that is noticed. */
  async lossReason(): Promise<string | undefined> {
    if (this.#process === undefined) return this.#reason || undefined;
    let forget = () => {};
    let timer: NodeJS.Timeout | undefined;
    const lost = new Promise<string>((resolve) => {
      forget = this.onLost(() => resolve(this.#reason));
    });
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(resolve, noticeMs, undefined);
    });
    return Promise.race([lost, late]).finally(() => {
      forget();
      clearTimeout(timer);
    });
  }

  /** The channel of one of its functions. */
  function(name: string): FunctionChannel {
    let channel = this.#functions.get(name);
    if (channel === undefined) {
      channel = new FunctionChannel(this, name);
      this.#functions.set(name, channel);
    }
    return channel;
  }

  /** Resolves when the process runs; rejects with the reason when it does not start. */
  running(): Promise<void> {
    if (this.#isRemoved) return Promise.reject(new Error(`${this.title} is not there any more`));
    this.#running ??= this.#start().catch((error: unknown) => {
      this.#running = undefined;
      throw error;
    });
    return this.#running;
  }

  /** Tells the plugin what to run, or no longer to run; rejects with its answer when that is not `ok`. */
  async command(cmd: 'start' | 'stop', { dataSource, ...symbol }: PluginPart | FunctionPart): Promise<void> {
    if (this.#control === undefined || this.#status !== 'running') throw new Error(`${this.title} does not run`);
    // The SDKs disagree on the spelling.
    const given = dataSource === undefined ? symbol : { ...symbol, dataSource, datasource: dataSource };
    const answer = await this.#control.call(Buffer.from(JSON.stringify({ cmd, arg: JSON.stringify(given) })));
    const text = answer.toString();
    if (text !== 'ok') throw new Error(`${this.title} refuses ${symbol.symbolName}: ${lastLineOf(text)}`);
  }

  /** Tells the plugin to end a part of it, and waits only so long: it may be busy, or gone. */
  async stopPart(part: PluginPart): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, stopMs);
    });
    await Promise.race([late, this.command('stop', part).catch(() => {})]);
    clearTimeout(timer);
  }

  /** Ends the process at once; who uses it starts it again. */
  kill(reason: string): void {
    this.#process?.kill(reason);
  }

  /** Runs the new program from now on. */
  async replace(code: PortableCode): Promise<void> {
    if (code.version <= this.code.version) return;
    this.code = code;
    this.#isRemoved = false;
    this.#failures = 0;
    this.#nextStart = 0;
    await this.#end('the engine has a new version of it', 'stop');
  }

  /** Ends, until `replace` brings a new program. */
  async close(reason: string): Promise<void> {
    this.#isRemoved = true;
    clearTimeout(this.#idle);
    for (const channel of this.#functions.values()) channel.close(reason);
    this.#functions.clear();
    await this.#end(reason, 'stop');
    this.#control?.close(reason);
    this.#control = undefined;
  }

  async #start(): Promise<void> {
    const pause = this.#nextStart - performance.now();
    if (pause > patienceMs) {
      throw new Error(`${this.title} is down (${this.#reason}); its next start is in ${Math.ceil(pause / 1000)} s`);
    }
    if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause));
    await this.#ending;
    if (this.#isRemoved) throw new Error(`${this.title} is not there any more`);
    this.#status = 'initializing';
    try {
      const { code } = this;
      this.#control ??= new CallChannel({
        timeoutMs: code.limits.initMs,
        hangs: (ms) => this.kill(`it gave no answer to a command within ${ms} ms`),
        lost: () => {},
      });
      await this.#control.listen(`/tmp/plugin_${code.name}.ipc`);
      this.#starts++;
      await this.#connect(this.#control);
    } catch (error) {
      this.#failed(reasonOf(error));
      throw new Error(`${this.title} does not start: ${reasonOf(error)}`);
    }
    this.#startedAt = performance.now();
    this.#status = 'running';
    this.#reason = '';
  }

  /** Starts the process and waits for its hello. */
  #connect(control: CallChannel): Promise<void> {
    control.drop();
    return new Promise((resolve, reject) => {
      const { initMs } = this.code.limits;
      let isUp = false;
      const plugin = new PluginProcess(this.code, {
        log: (line) => this.host.print(line),
        ended: (reason) => {
          clearTimeout(timer);
          if (this.#process === plugin) this.#process = undefined;
          if (isUp) this.#lost(reason);
          else reject(new Error(reason));
        },
      });
      this.#process = plugin;
      const timer = setTimeout(() => plugin.kill(`it has not connected within ${initMs} ms`), initMs);
      void control.greeting().then(() => {
        clearTimeout(timer);
        if (this.#process !== plugin) return;
        isUp = true;
        resolve();
      });
    });
  }

  /** A running process has ended. */
  #lost(reason: string): void {
    if (this.#ending === undefined) this.#running = undefined;
    if (this.#status === 'running') {
      if (performance.now() - this.#startedAt > stableMs) this.#failures = 0;
      this.#failed(reason);
      this.host.warn(`${this.title}: ${reason}`);
    }
    const told = `${this.title}: ${reason}`;
    this.#control?.drop();
    this.#control?.fail(told);
    for (const lost of [...this.#losers]) lost(told);
    this.#losers.clear();
    for (const channel of this.#functions.values()) channel.pluginGone(reason);
  }

  /** Its process may run, and a function of it have no socket. */
  #troubleOfFunctions(): string {
    const found = [...this.#functions.values()].find(({ trouble }) => trouble !== '');
    return found === undefined ? '' : `function ${found.name}: ${found.trouble}`;
  }

  #failed(reason: string): void {
    this.#status = 'error';
    this.#reason = reason;
    const pause = Math.min(longestPauseMs, firstPauseMs * 2 ** this.#failures++);
    this.#nextStart = performance.now() + pause;
  }

  async #end(reason: string, status: PortableState['status']): Promise<void> {
    this.#status = status;
    this.#reason = reason;
    const running = this.#process;
    if (running === undefined) return;
    this.#running = undefined;
    const ending = running.stop(reason || 'the engine ended it, since no rule uses it');
    this.#ending = ending;
    await ending;
    if (this.#ending === ending) this.#ending = undefined;
  }
}

function lastLineOf(text: string): string {
  return text.trim().split('\n').at(-1)?.slice(0, 500) ?? '';
}
