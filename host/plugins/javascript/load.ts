/**
 * Scripts in a sandbox: an engine for JavaScript (QuickJS) that is a WebAssembly module itself, so that a script reaches
 * nothing but its arguments. A batch goes in as one text and comes back as one.
 */
import type { QuickJSContext, QuickJSHandle, QuickJSRuntime } from 'quickjs-emscripten-core';
import type { HostColumns } from '../../../kernels/api.js';
import { reasonOf } from '../../base/errors.js';
import type { CodeHost, LoadedCode, ScriptCode, ScriptLimits } from '../define.js';
import { batchText } from './guest.js';
import { type Engine, newEngine, spareEngine, usualFuel } from './quickjs.js';
import { argumentsOf, resultOf } from './texts.js';

/** For reading a batch and writing its results, beside the usual fuel: what a character costs at most, and what all results may. */
const fuelOfCharacter = 500n;
const fuelOfResults = 4_000_000_000n;
/** What the engine does outside for a line of the log, and for each character of it. */
const fuelOfLine = 10_000n;
const fuelOfLogged = 20n;
const maxLine = 4096;

/** Resolves with a script that is ready to be called; rejects with what is wrong with it. */
export async function loadScript(code: ScriptCode, host: CodeHost): Promise<LoadedCode> {
  return new LoadedScript(code, await newEngine(), host, code.limits);
}

/** A sandbox with a script in it. */
interface Sandbox {
  readonly runtime: QuickJSRuntime;
  readonly context: QuickJSContext;
  readonly run: QuickJSHandle;
  readonly at: QuickJSHandle;
  /** Called when the rows are done and their results are to be written. */
  readonly ready: QuickJSHandle;
}

class LoadedScript implements LoadedCode {
  /** Undefined when it has ended and there is no other one yet. */
  #engine: Engine | undefined;
  #sandbox: Sandbox | undefined;
  /** When the row under way began, and which it is. */
  #rowSince = 0;
  #row = -1;
  #batchEnd = 0;
  /** Whatever was to be made anew, the batch is over then. */
  #latestEnd = 0;
  /** The engine has ended in the middle of something. */
  #isLost = false;
  /** Why the last call was cut off. */
  #cut: 'call' | 'batch' | undefined;

  constructor(
    private readonly code: ScriptCode,
    engine: Engine,
    private readonly host: CodeHost,
    private readonly limits: ScriptLimits,
  ) {
    this.#engine = engine;
    this.#sandbox = this.#open(engine);
  }

  call(_entry: string, columns: HostColumns): void {
    this.#batchEnd = performance.now() + this.limits.batchMs;
    this.#latestEnd = this.#batchEnd + this.limits.batchMs;
    for (let first = 0; first < columns.count; ) first = this.#part(columns, first);
  }

  close(): void {
    const sandbox = this.#sandbox;
    this.#sandbox = undefined;
    this.#refuel(fuelOfResults);
    try {
      sandbox?.ready.dispose();
      sandbox?.run.dispose();
      sandbox?.at.dispose();
      sandbox?.context.dispose();
      sandbox?.runtime.dispose();
    } catch {
      // What is left of it goes with the engine.
      this.#engine = undefined;
    }
  }

  /** Runs the rows from `first` on, up to one that is cut off; returns the next to be run. */
  #part(columns: HostColumns, first: number): number {
    const { text, hasMarks, failed } = argumentsOf(columns, first);
    this.#engine ??= spareEngine();
    const engine = this.#engine;
    if (engine === undefined)
      return this.#failAll(columns, first, 'its sandbox had to be ended, the next one is not ready');
    engine.fuel.value = usualFuel;
    this.#sandbox ??= this.#open(engine);
    const { context, run, ready } = this.#sandbox;
    this.#begin();
    engine.fuel.value = usualFuel + fuelOfCharacter * BigInt(text.length);
    let answer: string;
    try {
      const args = [
        context.newString(text),
        context.newNumber(columns.count - first),
        hasMarks ? context.true : context.false,
      ];
      const result = context.callFunction(run, context.undefined, ...args, ready);
      args[0]?.dispose();
      if (result.error !== undefined) {
        const reason = messageOf(context, result.error);
        return this.#stopped(columns, first, reason);
      }
      answer = context.getString(result.value);
      result.value.dispose();
    } catch (error) {
      // The sandbox itself ended: its fuel, its stack or its memory was exhausted.
      const isOut = engine.fuel.value < 0n;
      const reason = isOut
        ? 'a built-in function of JavaScript took more than a call may'
        : error instanceof RangeError
          ? 'the stack is exhausted'
          : String(error);
      engine.fuel.value = usualFuel;
      this.#isLost = true;
      return this.#stopped(columns, first, reason);
    }
    const [results, errors, isMarked] = answerOf(answer);
    for (let k = first; k < columns.count; k++) {
      try {
        columns.set(k, resultOf(results[k - first], isMarked));
      } catch (error) {
        // An object that looks like a marked value, and is none.
        columns.fail(k, `function ${this.code.name}: the result is no value: ${reasonOf(error)}`);
      }
    }
    for (let i = 0; i < errors.length; i += 2) {
      columns.fail(first + (errors[i] as number), `function ${this.code.name}: ${errors[i + 1]}`);
    }
    for (const [k, reason] of failed) columns.fail(k, reason);
    return columns.count;
  }

  /**
   * A call was cut off: nothing is known of the rows before it, which are run once more without it, and its own is an error.
   */
  #stopped(columns: HostColumns, first: number, reason: string): number {
    const cut = this.#cut;
    const row = Math.min(first + Math.max(0, this.#rowUnderWay()), columns.count - 1);
    // Nobody knows what a call that was cut off has left behind. The batch need not pay for what comes new, within bounds.
    const began = performance.now();
    this.#reopen();
    const now = performance.now();
    this.#batchEnd = Math.min(this.#batchEnd + now - began, this.#latestEnd);
    const { callMs, batchMs } = this.limits;
    const why = cut === 'call' ? `the call took more than ${callMs} ms` : reason;
    if (cut === 'batch' || now > this.#batchEnd) {
      const text = `a batch took more than ${batchMs} ms`;
      this.host.fault(`function ${this.code.name}: ${text}`);
      return this.#failAll(columns, first, text);
    }
    const text = `function ${this.code.name}: ${why}`;
    this.host.fault(text);
    for (let k = first; k < row; ) k = this.#part(firstRows(columns, row), k);
    columns.fail(row, text);
    return row + 1;
  }

  #failAll(columns: HostColumns, first: number, reason: string): number {
    for (let k = first; k < columns.count; k++) columns.fail(k, `function ${this.code.name}: ${reason}`);
    return columns.count;
  }

  #begin(): void {
    this.#cut = undefined;
    this.#row = -1;
    this.#rowSince = performance.now();
  }

  /** Called by the sandbox every few thousand steps; true ends the call. */
  #isOver(): boolean {
    const now = performance.now();
    this.#refuel(usualFuel);
    if (now > this.#batchEnd) {
      this.#cut = 'batch';
      return true;
    }
    const row = this.#rowUnderWay();
    if (row !== this.#row) {
      this.#row = row;
      this.#rowSince = now;
      return false;
    }
    if (now - this.#rowSince <= this.limits.callMs) return false;
    this.#cut = 'call';
    return true;
  }

  #rowUnderWay(): number {
    const sandbox = this.#sandbox;
    if (sandbox === undefined) return 0;
    try {
      const bytes = sandbox.context.getArrayBuffer(sandbox.at).value;
      return new DataView(bytes.buffer, bytes.byteOffset, 4).getInt32(0, true);
    } catch {
      // It has ended in a way that leaves no answer.
      return this.#row;
    }
  }

  #refuel(fuel: bigint): void {
    if (this.#engine !== undefined) this.#engine.fuel.value = fuel;
  }

  #reopen(): void {
    if (this.#isLost) {
      this.#isLost = false;
      this.#sandbox = undefined;
      this.#engine = undefined;
    }
    this.close();
    this.#engine ??= spareEngine();
    if (this.#engine !== undefined) this.#sandbox = this.#open(this.#engine);
  }

  #open(engine: Engine): Sandbox {
    const { code, limits, host } = this;
    const runtime = engine.quick.newRuntime();
    runtime.setMemoryLimit(limits.memoryBytes);
    runtime.setMaxStackSize(limits.stackBytes);
    const context = runtime.newContext();
    const log = context.newFunction('log', (...args) => {
      const line = args
        .map((arg) => (context.typeof(arg) === 'string' ? context.getString(arg) : shown(context.dump(arg))))
        .join(' ');
      engine.fuel.value -= fuelOfLine + fuelOfLogged * BigInt(line.length);
      host.log(line.slice(0, maxLine));
    });
    context.setProp(context.global, 'log', log);
    const console = context.newObject();
    for (const level of ['log', 'info', 'warn', 'error', 'debug']) context.setProp(console, level, log);
    context.setProp(context.global, 'console', console);
    console.dispose();
    log.dispose();
    const isFirst = this.#latestEnd === 0;
    const now = performance.now();
    const end = isFirst ? now + limits.batchMs : Math.min(now + limits.batchMs, this.#latestEnd);
    runtime.setInterruptHandler(() => {
      engine.fuel.value = usualFuel;
      return performance.now() > end;
    });
    const evaluate = (text: string, file: string): QuickJSHandle => {
      const result = context.evalCode(text, file);
      if (result.error === undefined) return result.value;
      const reason = messageOf(context, result.error);
      throw new Error(`${code.name}: ${reason}`);
    };
    try {
      evaluate(code.script, `${code.name}.js`).dispose();
      const isFunction = evaluate(`typeof ${code.name} === 'function'`, 'check.js');
      if (context.dump(isFunction) !== true) throw new Error(`the script defines no function ${code.name}`);
      const batch = evaluate(batchText(code.name), 'batch.js');
      const run = context.getProp(batch, 'run');
      const at = context.getProp(batch, 'at');
      batch.dispose();
      runtime.setInterruptHandler(() => this.#isOver());
      const ready = context.newFunction('ready', () => {
        engine.fuel.value = fuelOfResults;
      });
      return { runtime, context, run, at, ready };
    } catch (error) {
      // What came so far goes with the engine.
      const isOut = engine.fuel.value < 0n;
      this.#engine = undefined;
      if (!isFirst) this.host.fault(`function ${code.name}: it can't begin anew: ${reasonOf(error)}`);
      throw isOut ? new Error(`${code.name}: a built-in function of JavaScript took more than a call may`) : error;
    }
  }
}

/** What an object is in the log. */
function shown(value: unknown): string {
  return JSON.stringify(value, (_key, item) => (typeof item === 'bigint' ? String(item) : (item as unknown))) ?? '';
}

/** What the sandbox answers; the script may have changed what makes it. */
function answerOf(text: string): [unknown[], (number | string)[], boolean] {
  const answer = JSON.parse(text) as unknown;
  if (Array.isArray(answer) && Array.isArray(answer[0]) && Array.isArray(answer[1])) {
    return answer as [unknown[], (number | string)[], boolean];
  }
  throw new Error('the script has changed functions of JavaScript that its results need');
}

/** The first rows of a batch. */
function firstRows(columns: HostColumns, count: number): HostColumns {
  return {
    count,
    argCount: columns.argCount,
    get: (i, k) => columns.get(i, k),
    set: (k, value) => columns.set(k, value),
    fail: (k, message) => columns.fail(k, message),
  };
}

function messageOf(context: QuickJSContext, error: QuickJSHandle): string {
  const told: unknown = context.dump(error);
  error.dispose();
  if (typeof told !== 'object' || told === null) return String(told);
  const { name = 'Error', message = '' } = told as { name?: string; message?: string };
  return message === '' ? name : `${name}: ${message}`;
}
