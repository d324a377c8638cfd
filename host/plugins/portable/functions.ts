/** Functions of plugins: a channel for each, to which the plugin connects when it is told to run the function. */
import { reasonOf } from '../../base/errors.js';
import { CallChannel } from './calls.js';
import type { PortableCode } from './code.js';

/** What tells a plugin to run a function. */
export interface FunctionPart {
  readonly symbolName: string;
  readonly pluginType: 'func';
  readonly meta: { readonly ruleId: string; readonly opId: string; readonly instanceId: number };
  readonly dataSource?: undefined;
}

/** The plugin of a function. */
export interface FunctionOwner {
  readonly title: string;
  readonly code: PortableCode;
  /** Number of starts so far. */
  readonly starts: number;
  use(): void;
  leave(): void;
  /** Resolves when the process runs; rejects with the reason when it does not start. */
  running(): Promise<void>;
  command(cmd: 'start', part: FunctionPart): Promise<void>;
  /** Why the process has ended, where it does within the time in which that is noticed. */
  lossReason(): Promise<string | undefined>;
  /** Whether the process of a start is gone, or is noticed to be before long. */
  isGone(start: number): Promise<boolean>;
  /** Calls back once when the process is gone; returns what takes that back. */
  onLost(lost: (reason: string) => void): () => void;
  kill(reason: string): void;
}

/** Answer of a plugin. */
interface Answer {
  readonly state: boolean;
  readonly result?: unknown;
}

/** Longest reason in an error. */
const maxReason = 500;

export class FunctionChannel {
  readonly #channel: CallChannel;
  #ready: Promise<void> | undefined;
  /** The plugin runs the function now. */
  #isOpen = false;
  #isClosed = false;
  /** Why the plugin does not run it; empty while it does. */
  trouble = '';
  /** Rules that call it. */
  #users = 0;

  constructor(
    private readonly plugin: FunctionOwner,
    readonly name: string,
  ) {
    this.#channel = new CallChannel({
      timeoutMs: plugin.code.limits.recvMs,
      hangs: (ms) => plugin.kill(`its function ${name} gave no answer within ${ms} ms`),
      lost: () => this.#lost(),
      lossReason: () => plugin.lossReason(),
    });
  }

  use(): void {
    this.#users++;
    this.plugin.use();
  }

  leave(): void {
    this.#users--;
    this.plugin.leave();
  }

  /** Resolves when the plugin runs the function. */
  ready(): Promise<void> {
    this.#ready ??= this.#open().catch((error: unknown) => {
      this.#ready = undefined;
      this.trouble = reasonOf(error);
      this.#channel.fail(reasonOf(error));
      throw error;
    });
    return this.#ready;
  }

  /** Calls it; rejects with the reason when it fails. `args` is the text of a list of JSON. */
  async call(method: 'Exec' | 'IsAggregate', args: string): Promise<unknown> {
    if (this.#isClosed) throw new Error(`${this.plugin.title} is not there any more`);
    // The call waits in the channel; what fails there fails the call.
    if (this.#ready === undefined) this.ready().catch(() => {});
    const body = Buffer.from(`{"func":"${method}","arg":${args}}`);
    const text = (await this.#channel.call(body, this.plugin.code.limits.callRetries)).toString();
    const { state, result } = readAnswer(text);
    if (!state) throw new Error(String(typeof result === 'string' ? lastLine(result) : JSON.stringify(result)));
    return result;
  }

  /** The process of the plugin is gone. */
  pluginGone(reason: string): void {
    this.#channel.drop(reason);
    this.#lost();
  }

  /** The plugin runs it no longer: it is told to do so again for calls that wait, and for rules. */
  #lost(): void {
    if (this.#isClosed || !this.#isOpen) return;
    this.#isOpen = false;
    this.#ready = undefined;
    if (this.#users > 0 || this.#channel.isWanted) this.#reopen();
  }

  #reopen(): void {
    this.ready().catch(() => {
      // Rules still want it; the plugin itself makes the pauses between two starts.
      if (!this.#isClosed && this.#users > 0) setTimeout(() => this.#retry(), 1000).unref();
    });
  }

  #retry(): void {
    if (!this.#isClosed && this.#users > 0 && this.#ready === undefined) this.#reopen();
  }

  close(reason: string): void {
    this.#isClosed = true;
    this.#channel.close(reason);
  }

  async #open(): Promise<void> {
    for (;;) {
      await this.plugin.running();
      const start = this.plugin.starts;
      try {
        await this.#begin();
        break;
      } catch (error) {
        // That a plugin has ended is noticed by its sockets first.
        if (!(await this.plugin.isGone(start))) throw error;
      }
    }
    this.#isOpen = true;
    this.trouble = '';
  }

  async #begin(): Promise<void> {
    await this.#channel.listen(`/tmp/func_${this.name}.ipc`);
    const { language, limits } = this.plugin.code;
    // Only the SDK of Python runs a function more than once.
    const times = language === 'python' ? limits.callsAtOnce : 1;
    const meta = { ruleId: '', opId: '', instanceId: 0 };
    for (let i = 0; i < times; i++) {
      await this.plugin.command('start', { symbolName: this.name, pluginType: 'func', meta });
    }
    let forget = () => {};
    const lost = new Promise<never>((_, reject) => {
      forget = this.plugin.onLost((reason) => reject(new Error(reason)));
    });
    await Promise.race([this.#channel.greeting(), lost]).finally(forget);
  }
}

function readAnswer(text: string): Answer {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    throw new Error(`its answer is no JSON: ${text.slice(0, 60)}`);
  }
  const { state } = (answer ?? {}) as Partial<Answer>;
  if (typeof state !== 'boolean') throw new Error(`its answer has no state: ${text.slice(0, 60)}`);
  return answer as Answer;
}

/** Python answers with all lines of a failure, of which the last one tells the reason. */
function lastLine(text: string): string {
  return (text.trim().split('\n').at(-1) ?? '').slice(0, maxReason);
}
