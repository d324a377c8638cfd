/**
 * Scripts in a sandbox: an engine for JavaScript (QuickJS) that is a WebAssembly module itself, so that a script reaches
 * nothing but its arguments. A batch goes in as one text and comes back as one.
 */
import {
  newQuickJSWASMModuleFromVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSRuntime,
  type QuickJSSyncVariant,
  type QuickJSWASMModule,
} from 'quickjs-emscripten-core';
import type { HostColumns } from '../../../kernels/api.js';
import type { CodeHost, LoadedCode, ScriptCode, ScriptLimits } from '../define.js';
import { batchText } from './guest.js';
import { argumentsOf, resultOf } from './texts.js';

let engine: Promise<QuickJSWASMModule> | undefined;

/** Resolves with a script that is ready to be called; rejects with what is wrong with it. */
export async function loadScript(code: ScriptCode, host: CodeHost): Promise<LoadedCode> {
  engine ??= import('@jitl/quickjs-ng-wasmfile-release-sync').then(({ default: variant }) =>
    newQuickJSWASMModuleFromVariant(variant as unknown as QuickJSSyncVariant),
  );
  return new LoadedScript(code, await engine, host, code.limits);
}

/** A sandbox with a script in it. */
interface Sandbox {
  readonly runtime: QuickJSRuntime;
  readonly context: QuickJSContext;
  readonly run: QuickJSHandle;
  readonly at: QuickJSHandle;
}

class LoadedScript implements LoadedCode {
  #sandbox: Sandbox | undefined;
  /** When the row under way began, and which it is. */
  #rowSince = 0;
  #row = -1;
  #batchEnd = 0;
  /** Why the last call was cut off. */
  #cut: 'call' | 'batch' | undefined;

  constructor(
    private readonly code: ScriptCode,
    private readonly quick: QuickJSWASMModule,
    private readonly host: CodeHost,
    private readonly limits: ScriptLimits,
  ) {
    this.#sandbox = this.#open();
  }

  call(_entry: string, columns: HostColumns): void {
    this.#batchEnd = performance.now() + this.limits.batchMs;
    for (let first = 0; first < columns.count; ) first = this.#part(columns, first);
  }

  close(): void {
    const sandbox = this.#sandbox;
    if (sandbox === undefined) return;
    this.#sandbox = undefined;
    sandbox.run.dispose();
    sandbox.at.dispose();
    sandbox.context.dispose();
    sandbox.runtime.dispose();
  }

  /** Runs the rows from `first` on, up to one that is cut off; returns the next to be run. */
  #part(columns: HostColumns, first: number): number {
    const { text, hasMarks, failed } = argumentsOf(columns, first);
    this.#sandbox ??= this.#open();
    const { context, run } = this.#sandbox;
    this.#begin();
    let answer: string;
    try {
      const args = [
        context.newString(text),
        context.newNumber(columns.count - first),
        hasMarks ? context.true : context.false,
      ];
      const result = context.callFunction(run, context.undefined, ...args);
      args[0]?.dispose();
      if (result.error !== undefined) {
        const reason = messageOf(context, result.error);
        return this.#stopped(columns, first, reason);
      }
      answer = context.getString(result.value);
      result.value.dispose();
    } catch (error) {
      // The sandbox itself ended: its stack or its memory was exhausted.
      const reason = error instanceof RangeError ? 'the stack is exhausted' : String(error);
      return this.#stopped(columns, first, reason);
    }
    const [results, errors, isMarked] = JSON.parse(answer) as [unknown[], (number | string)[], boolean];
    for (let k = first; k < columns.count; k++) columns.set(k, resultOf(results[k - first], isMarked));
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
    const row = first + Math.max(0, this.#rowUnderWay());
    // Nobody knows what a call that was cut off has left behind. The batch need not pay for what comes new.
    const began = performance.now();
    this.#reopen();
    this.#batchEnd += performance.now() - began;
    const { callMs, batchMs } = this.limits;
    if (cut === 'batch') {
      const text = `function ${this.code.name}: a batch took more than ${batchMs} ms`;
      this.host.fault(text);
      for (let k = first; k < columns.count; k++) columns.fail(k, text);
      return columns.count;
    }
    const why = cut === 'call' ? `the call took more than ${callMs} ms` : reason;
    const text = `function ${this.code.name}: ${why}`;
    this.host.fault(text);
    for (let k = first; k < row; ) k = this.#part(firstRows(columns, row), k);
    columns.fail(row, text);
    return row + 1;
  }

  #begin(): void {
    this.#cut = undefined;
    this.#row = -1;
    this.#rowSince = performance.now();
  }

  /** Called by the sandbox every few thousand steps; true ends the call. */
  #isOver(): boolean {
    const now = performance.now();
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
    const bytes = sandbox.context.getArrayBuffer(sandbox.at).value;
    return new DataView(bytes.buffer, bytes.byteOffset, 4).getInt32(0, true);
  }

  #reopen(): void {
    try {
      this.close();
    } catch {
      // What is left of it goes with the engine.
    }
    this.#sandbox = this.#open();
  }

  #open(): Sandbox {
    const { code, limits, host } = this;
    const runtime = this.quick.newRuntime();
    runtime.setMemoryLimit(limits.memoryBytes);
    runtime.setMaxStackSize(limits.stackBytes);
    const context = runtime.newContext();
    const log = context.newFunction('log', (...args) => {
      host.log(
        args
          .map((arg) => (context.typeof(arg) === 'string' ? context.getString(arg) : JSON.stringify(context.dump(arg))))
          .join(' '),
      );
    });
    context.setProp(context.global, 'log', log);
    const console = context.newObject();
    for (const level of ['log', 'info', 'warn', 'error', 'debug']) context.setProp(console, level, log);
    context.setProp(context.global, 'console', console);
    console.dispose();
    log.dispose();
    const end = performance.now() + limits.batchMs;
    runtime.setInterruptHandler(() => performance.now() > end);
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
      return { runtime, context, run, at };
    } catch (error) {
      context.dispose();
      runtime.dispose();
      throw error;
    }
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

function messageOf(context: QuickJSContext, error: QuickJSHandle): string {
  const told: unknown = context.dump(error);
  error.dispose();
  if (typeof told !== 'object' || told === null) return String(told);
  const { name = 'Error', message = '' } = told as { name?: string; message?: string };
  return message === '' ? name : `${name}: ${message}`;
}
