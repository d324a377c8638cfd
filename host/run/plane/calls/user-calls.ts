/**
 * Functions of users in a data plane: their code is loaded when the first rule needs it and closed behind the last one.
 */
import type { HostColumns } from '../../../../kernels/api.js';
import { ValueError } from '../../../../kernels/values/value.js';
import type { PipedProgram } from '../../../base/structures/piped-program.js';
import type {
  CodeHost,
  DirectCode,
  FormatCode,
  LoadedCode,
  MakeMessages,
  UserCode,
  UserFunction,
} from '../../../plugins/define.js';
import { loadCode } from '../../../plugins/index.js';
import type { SourceSpec } from '../../link/protocol.js';
import type { IsolatedHost } from './isolated-function.js';

/** Code in use. */
interface Loaded {
  readonly key: string;
  readonly code: LoadedCode;
  /** Host of the code; undefined where that has a thread of its own. */
  readonly host: CodeHost | undefined;
  uses: number;
}

interface Known {
  readonly name: string;
  readonly owner: string;
  /** Version of the code, also of code that was taken away. */
  version: number;
  /** It is a codec whose module has a thread of its own; new code stays with that while rules use it. */
  readonly isApart: boolean;
  /** Loaded code and its entry; null when the code was taken away. */
  run: { readonly entry: string; readonly loaded: Loaded } | null;
  uses: number;
}

export class UserCalls {
  readonly #loaded = new Map<string, Loaded>();
  readonly #known = new Map<number, Known>();
  /** The last load or replacement: each waits for the one before. */
  #last: Promise<unknown> = Promise.resolve();

  /** @param host takes what the code of an owner tells */
  constructor(private readonly host: IsolatedHost) {}

  /** Makes the functions ready; rejects with the reason when code does not load. `release` is its counterpart. */
  use(functions: readonly UserFunction[]): Promise<void> {
    return this.#inTurn(async () => {
      const taken: UserFunction[] = [];
      try {
        for (const one of functions) {
          await this.#use(one);
          taken.push(one);
        }
      } catch (error) {
        this.release(taken);
        throw error;
      }
    });
  }

  /** The rule that used the functions is gone. */
  release(functions: readonly UserFunction[]): void {
    for (const { number } of functions) {
      const known = this.#known.get(number);
      if (known === undefined || --known.uses > 0) continue;
      this.#known.delete(number);
      this.#leave(known.run);
    }
  }

  /** Gives all rules the new code of an owner; what it does not have any more, or with null all, fails from now on. */
  replace(owner: string, functions: readonly UserFunction[] | null): Promise<void> {
    return this.#inTurn(async () => {
      for (const [number, known] of [...this.#known]) {
        if (known.owner !== owner) continue;
        const better = functions?.find((one) => one.number === number);
        if (better !== undefined) await this.#change(known, better);
        else {
          this.#leave(known.run);
          known.run = null;
        }
      }
    });
  }

  /** Runs a function over a batch, for `HostCalls.call` of the kernel; `source` is that whose input is at work. */
  call(number: number, columns: HostColumns, source?: SourceSpec): void {
    const { fn, payload } = source?.decoder ?? {};
    if (fn === number) columns.errorsBeginWith = `stream ${source?.name}: `;
    if (payload?.fn === number) columns.errorsBeginWith = `stream ${source?.name}: the payload in ${payload.field}: `;
    const known = this.#known.get(number);
    if (known === undefined) throw new Error(`no function has number ${number}`);
    columns.name = known.name;
    if (known.run === null) throw new Error(`function ${known.name}: ${known.owner} is not there any more`);
    known.run.loaded.code.call(known.run.entry, columns);
  }

  /** Has a codec make something of messages on a thread of its own; undefined where it has none. */
  makerOf(number: number | undefined): MakeMessages | undefined {
    const known = number === undefined ? undefined : this.#known.get(number);
    if (known?.isApart !== true) return undefined;
    return async (messages, kind, signal) => {
      const { run, name, owner } = known;
      const made = run?.loaded.code.make?.(run.entry, messages, kind, signal);
      if (made !== undefined) return made;
      const gone = new ValueError(`function ${name}: ${owner} is not there any more`);
      return messages.map(() => gone);
    };
  }

  /** The code of a decoder; undefined where there is none. */
  decoderOf(number: number): LoadedCode | undefined {
    return this.#known.get(number)?.run?.loaded.code;
  }

  /** A program as it is now; undefined when its plugin is gone. */
  programOf(number: number | undefined): PipedProgram | undefined {
    return number === undefined ? undefined : this.#known.get(number)?.run?.loaded.code.program;
  }

  async #use(one: UserFunction): Promise<void> {
    const { name, owner, number, code } = one;
    const known = this.#known.get(number);
    if (known === undefined) {
      // Other functions of such a module are asked by nodes in which rows wait.
      const isApart = code.kind === 'wasm' && code.isolate !== undefined;
      const run = await this.#open(one, isApart);
      this.#known.set(number, { name, owner, version: code.version, isApart, run, uses: 1 });
      return;
    }
    if (known.version < code.version) await this.#change(known, one);
    known.uses++;
  }

  async #change(known: Known, better: UserFunction): Promise<void> {
    const run = await this.#open(better, known.isApart);
    this.#leave(known.run);
    known.run = run;
    known.version = better.code.version;
    // The last rule of the function may have gone meanwhile.
    if (this.#known.get(better.number) !== known) this.#leave(run);
  }

  async #open({ code, entry, owner }: UserFunction, isApart: boolean): Promise<NonNullable<Known['run']>> {
    const key = isApart ? `${keyOf(code)} apart` : keyOf(code);
    if (code.kind === 'service' || code.kind === 'library' || code.kind === 'portable')
      throw new Error(`${owner} answers later`);
    let loaded = this.#loaded.get(key);
    if (loaded === undefined) {
      loaded = { key, uses: 0, ...(await this.#load(code, owner, isApart)) };
      this.#loaded.set(key, loaded);
    }
    loaded.uses++;
    return { entry, loaded };
  }

  async #load(code: DirectCode | FormatCode, owner: string, isApart: boolean): Promise<Pick<Loaded, 'code' | 'host'>> {
    if (isApart && code.kind === 'wasm') {
      const { openApart } = await import('./apart-codec.js');
      const { IsolatedModules } = await import('./isolated-function.js');
      return { code: await openApart(IsolatedModules.of(this.host), owner, code), host: undefined };
    }
    const host = this.host.codeWatch.hostOf(owner);
    try {
      return { code: code.kind === 'format' ? await formatCode(code) : await loadCode(code, host), host };
    } catch (error) {
      host.memory?.holds(0);
      throw error;
    }
  }

  #leave(run: Known['run']): void {
    if (run === null || --run.loaded.uses > 0) return;
    this.#loaded.delete(run.loaded.key);
    run.loaded.code.close();
    run.loaded.host?.memory?.holds(0);
  }

  #inTurn<T>(step: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(step, step);
    this.#last = turn.catch(() => {});
    return turn;
  }
}

/** Most data planes need no format of the host. */
async function formatCode(code: FormatCode): Promise<LoadedCode> {
  return (await import('./format-code.js')).loadFormat(code);
}

function keyOf({ kind, name, version }: UserCode): string {
  return `${kind} ${name} ${version}`;
}
