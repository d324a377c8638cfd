/**
 * Scripts in a sandbox: an engine for JavaScript (QuickJS) in WebAssembly, so that a script reaches nothing but its
 * arguments. A batch goes in as one text and comes back as one.
 */
import type { QuickJSContext, QuickJSHandle, QuickJSRuntime } from 'quickjs-emscripten-core';
import type { HostColumns } from '../../../kernels/api.js';
import { reasonOf } from '../../base/errors.js';
import type { CodeHost, LoadedCode, ScriptCode, ScriptLimits } from '../define.js';
import { runnerText } from './guest.js';
import { type Engine, newEngine, spareEngine, usualFuel } from './quickjs.js';
import { type Answer, answerOf, argumentsOf, resultOf } from './texts.js';

/** Fuel beside the usual for a batch: of a character at most, and of all results. */
const fuelOfCharacter = 500n;
const fuelOfResults = 4_000_000_000n;
/** Fuel of a line of the log, and of each of its characters. */
const fuelOfLine = 10_000n;
const fuelOfLogged = 20n;

/** Thrown by a script without memory, which may have none for the error either. */
const memoryError = /out of memory|^thrown: null$/;

/** Resolves with a script that is ready to be called; rejects when it is wrong. */
export async function loadScript(code: ScriptCode, host: CodeHost): Promise<LoadedCode> {
  return new LoadedScript(code, await newEngine(), host, code.limits);
}

/** A sandbox with a script in it. */
interface Sandbox {
  readonly runtime: QuickJSRuntime;
  readonly context: QuickJSContext;
  readonly run: QuickJSHandle;
  readonly at: QuickJSHandle;
  /** The function of the script. */
  readonly fn: QuickJSHandle;
  /** Called after the rows, before their results are written. */
  readonly ready: QuickJSHandle;
}

class LoadedScript implements LoadedCode {
  /** The engine; undefined while a new one is made. */
  #engine: Engine | undefined;
  #sandbox: Sandbox | undefined;
  /** Start of the row under way, and its number. */
  #rowSince = 0;
  #row = -1;
  #batchEnd = 0;
  /** End of the batch, however often the engine was replaced. */
  #latestEnd = 0;
  /** Whether the engine has ended in a call. */
  #isLost = false;
  /** Why there is no memory for the rows under way. */
  #refusal: string | undefined;
  /** The bound that cut off the last call. */
  #cut: 'call' | 'batch' | undefined;

  constructor(
    private readonly code: ScriptCode,
    engine: Engine,
    private readonly host: CodeHost,
    private readonly limits: ScriptLimits,
  ) {
    this.#engine = this.#own(engine);
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
      sandbox?.fn.dispose();
      sandbox?.context.dispose();
      sandbox?.runtime.dispose();
    } catch {
      // The rest of the sandbox goes with the engine.
      this.#engine = undefined;
    }
  }

  /** Runs rows from `first` on until one is cut off; returns the next row. */
  #part(columns: HostColumns, first: number): number {
    const { text, hasMarks, failed } = argumentsOf(columns, first);
    this.#engine ??= this.#spare();
    const engine = this.#engine;
    if (engine === undefined)
      return this.#failAll(columns, first, 'its sandbox had to be ended, the next one is not ready');
    engine.fuel.value = usualFuel;
    this.#sandbox ??= this.#open(engine);
    const { context, run, fn, ready } = this.#sandbox;
    const count = columns.count - first;
    this.#begin();
    engine.fuel.value = usualFuel + fuelOfCharacter * BigInt(text.length);
    let written: string;
    try {
      const given = context.newString(text);
      const blank = context.newString(`[${'null,'.repeat(count - 1)}null]`);
      const longest = context.newNumber(this.#longest(columns));
      const marks = hasMarks ? context.true : context.false;
      const result = context.callFunction(run, context.undefined, fn, given, blank, marks, longest, ready);
      given.dispose();
      blank.dispose();
      if (result.error !== undefined) {
        const reason = messageOf(context, result.error);
        return this.#stopped(columns, first, reason);
      }
      written = context.getString(result.value);
      result.value.dispose();
    } catch (error) {
      // The sandbox has ended: fuel, stack or memory was exhausted.
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
    let answer: Answer;
    try {
      answer = answerOf(written, count);
    } catch (error) {
      // No script can write that: the engine is damaged.
      this.#isLost = true;
      this.#reopen();
      const reason = `its sandbox is damaged: ${reasonOf(error)}`;
      this.host.fault(`function ${this.code.name}: ${reason}`);
      return this.#failAll(columns, first, reason);
    }
    this.#take(columns, first, answer);
    for (const [k, reason] of failed) columns.fail(k, reason);
    return columns.count;
  }

  #take(columns: HostColumns, first: number, { results, errors, hasMarks }: Answer): void {
    results.forEach((result, k) => {
      try {
        columns.set(first + k, resultOf(result, hasMarks));
      } catch (error) {
        columns.fail(first + k, `function ${this.code.name}: the result is no value: ${reasonOf(error)}`);
      }
    });
    for (const [k, reason] of errors) {
      const why = memoryError.test(reason) ? (this.#refusal ?? reason) : reason;
      columns.fail(first + k, `function ${this.code.name}: ${why}`);
    }
  }

  /** Bytes of the longest value. */
  #longest({ direct }: HostColumns): number {
    return Math.min(direct?.access.longest ?? this.limits.memoryBytes, this.limits.memoryBytes);
  }

  /** Handles a call that was cut off: its row is an error, and rows before it, whose results are lost, run again. */
  #stopped(columns: HostColumns, first: number, reason: string): number {
    const cut = this.#cut;
    const refusal = this.#refusal;
    const row = Math.min(first + Math.max(0, this.#rowUnderWay()), columns.count - 1);
    // The state after a call that was cut off is undefined. A new engine is not charged to the batch, within bounds.
    const began = performance.now();
    this.#reopen();
    const now = performance.now();
    this.#batchEnd = Math.min(this.#batchEnd + now - began, this.#latestEnd);
    const { callMs, batchMs } = this.limits;
    const why = cut === 'call' ? `the call took more than ${callMs} ms` : (refusal ?? reason);
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
    this.#refusal = undefined;
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
      // The sandbox has ended without an answer.
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
    this.#engine ??= this.#spare();
    if (this.#engine !== undefined) this.#sandbox = this.#open(this.#engine);
  }

  /** Counts the memory of an engine as memory of users' code. */
  #own(engine: Engine): Engine {
    const { memory } = this.host;
    if (memory === undefined) return engine;
    engine.memory.mayHave = (bytes) => {
      this.#refusal = memory.holds(bytes);
      return this.#refusal === undefined;
    };
    if (engine.memory.mayHave(engine.memory.bytes)) return engine;
    throw new Error(`${this.code.name}: ${this.#refusal}`);
  }

  #spare(): Engine | undefined {
    const engine = spareEngine();
    return engine && this.#own(engine);
  }

  #open(engine: Engine): Sandbox {
    const { code, limits } = this;
    const runtime = engine.quick.newRuntime();
    runtime.setMemoryLimit(limits.memoryBytes);
    runtime.setMaxStackSize(limits.stackBytes);
    const context = runtime.newContext();
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
      // The runner comes first: a script may replace what it needs.
      const runner = evaluate(runnerText, 'runner.js');
      const run = context.getProp(runner, 'run');
      const at = context.getProp(runner, 'at');
      this.#giveLog(engine, context, runner);
      runner.dispose();
      evaluate(code.script, `${code.name}.js`).dispose();
      const fn = evaluate(`typeof ${code.name} === 'undefined' ? undefined : ${code.name}`, 'function.js');
      if (context.typeof(fn) !== 'function') throw new Error(`the script defines no function ${code.name}`);
      runtime.setInterruptHandler(() => this.#isOver());
      const ready = context.newFunction('ready', () => {
        engine.fuel.value = fuelOfResults;
      });
      return { runtime, context, run, at, fn, ready };
    } catch (error) {
      // All that was made goes with the engine.
      const isOut = engine.fuel.value < 0n;
      this.#engine = undefined;
      if (this.#refusal !== undefined) throw new Error(`${code.name}: ${this.#refusal}`);
      if (!isFirst) this.host.fault(`function ${code.name}: it can't begin anew: ${reasonOf(error)}`);
      throw isOut ? new Error(`${code.name}: a built-in function of JavaScript took more than a call may`) : error;
    }
  }

  /** Gives the script `log` and `console`. */
  #giveLog(engine: Engine, context: QuickJSContext, runner: QuickJSHandle): void {
    const send = context.newFunction('send', (line) => {
      try {
        const text = context.getString(line);
        engine.fuel.value -= fuelOfLine + fuelOfLogged * BigInt(text.length);
        this.host.log(text);
      } catch {
        // The engine has ended in this call, and must not go on.
        engine.fuel.value = -1n;
      }
    });
    const logTo = context.getProp(runner, 'logTo');
    const log = context.unwrapResult(context.callFunction(logTo, context.undefined, send));
    const console = context.newObject();
    for (const level of ['log', 'info', 'warn', 'error', 'debug']) context.setProp(console, level, log);
    context.setProp(context.global, 'log', log);
    context.setProp(context.global, 'console', console);
    for (const handle of [console, log, logTo, send]) handle.dispose();
  }
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

/** Text of a thrown value of any kind. */
function messageOf(context: QuickJSContext, error: QuickJSHandle): string {
  const thrown: unknown = context.dump(error);
  // A promise is gone already.
  if (error.alive) error.dispose();
  if (typeof thrown !== 'object' || thrown === null) return String(thrown);
  const { name, message } = thrown as { name?: unknown; message?: unknown };
  const [kind, text] = [typeof name === 'string' ? name : 'Error', typeof message === 'string' ? message : ''];
  return text === '' ? kind : `${kind}: ${text}`;
}
